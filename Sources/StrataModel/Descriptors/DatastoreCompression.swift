import StrataDocuments
package import StrataEngine

extension DatastoreDescriptor {
  /// Whether compactions of a file compress the values of the datastore. If it is nil, they leave the values as they are.
  package var compressesValues: Bool? {
    get {
      switch unknown["compression"] {
      case .string("values"): true
      case .string("none"): false
      default: nil
      }
    }
    set { unknown["compression"] = newValue.map { .string($0 ? "values" : "none") } }
  }

  /// The same for a tree with its attributes, as `StoreOptions.compresses` asks.
  @Sendable
  package static func compresses(_ tree: TreeName, _ attributes: Bytes) -> Bool? {
    guard tree.datastoreKey != nil else { return nil }
    return (try? DatastoreDescriptor(bytes: attributes.array))?.compressesValues
  }
}

extension EngineStore {
  /// Declares whether the values of datastores are compressed: the next compaction does it. One commit, or none if nothing changes.
  package func declareCompression(_ isCompressed: Bool, of datastores: [String]) throws(ModelError) {
    if engine.isServed { throw .refused(reason: "values on a server are not compressed by strata") }
    let action = isCompressed ? "compress values" : "store values raw"
    _ = try transact(CommitInfo(action: action, flags: .maintenance)) { transaction in
      for key in datastores {
        var descriptor = try datastore(key, in: transaction).descriptor
        descriptor.compressesValues = isCompressed
        try transaction.setAttributes(descriptor.bytes, of: .records(of: key))
      }
    }
  }
}

extension ReadableDatastore {
  /// The share that compressed values take, as `0.31×`; nil if they are not compressed.
  package var compressedText: String? {
    guard let share = compressedShare else { return nil }
    let hundredths = Int((share * 100).rounded())
    return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)×"
  }
}

extension EngineDatastore {
  var compressedShare: Double? { (try? tree.compressedShare()) ?? nil }
}
