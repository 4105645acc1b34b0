import StrataModel

/// The indexes that a conversion cannot carry over truthfully, and the reasons.
struct StaleIndexes {
  /// By datastore and the index's folder: an index of that name that was built again is another one.
  private var reasons: [String: [String: String]] = [:]

  /// Compares every index of the newest state with its records.
  init(of view: FolderView, step: (_ title: String) throws(ModelError) -> Void) throws(ModelError) {
    for key in view.iteration.datastores.keys.sorted() {
      guard let datastore = view.folderDatastore(key) else { continue }
      for index in datastore.secondaryIndexes where Self.reasonByType(of: index) == nil {
        try step("\(key): checking index \(index.descriptor.name)")
        guard let folder = index.folder else { continue }
        do throws(FolderError) {
          reasons[key, default: [:]][folder] = try IndexAgreement(index, of: datastore).disagreement
        } catch {
          reasons[key, default: [:]][folder] = "\(error)"
        }
      }
    }
  }

  /// The reason that an index is stale; nil if it is carried over.
  func reason(for index: FolderIndex, of datastore: String) -> String? {
    if let reason = Self.reasonByType(of: index) { return reason }
    guard let folder = index.folder else { return "its entries cannot be read" }
    return reasons[datastore]?[folder]
  }

  private static func reasonByType(of index: FolderIndex) -> String? {
    if index.values.isDate { return "the folder keeps dates to the millisecond, a store keeps them exactly" }
    if !index.values.isKnown { return "the order of \(index.values.name) is known only to the app" }
    if case .failure(let error) = index.source { return "\(error)" }
    return nil
  }
}

extension FolderIndex {
  /// The folder of its pages; nil if its manifest cannot be read.
  var folder: String? { (try? source.get())?.source.index }
}
