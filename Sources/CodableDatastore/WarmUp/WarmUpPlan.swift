import StrataModel

/// The work that makes a store fit a declaration.
struct WarmUpPlan: Sendable {
  /// Indexes to build, by their place in the declaration.
  var rebuilt: Set<Int> = []
  /// Indexes that older code evaluated, to be compared with what the declaration's code says.
  var evaluated: Set<Int> = []
  /// Indexes that are no longer declared.
  var dropped: [String] = []
  /// Indexes that have another name now, by their place in the declaration: the name they had.
  var moved: [Int: String] = [:]
  /// Whether identifiers are kept in another way, so that every record moves.
  var rekeys = false
  /// Records of versions before this one are rewritten.
  var rewritesOlderThan: String?
  /// The keys of records that may be left out of the indexes if they cannot be converted.
  var leavingOut: Set<[UInt8]> = []
  /// Changes of records that do not decode, made before anything is read.
  var mending: [RecordEdit] = []
  /// Members of the descriptor that change without any work, such as uniqueness that is switched off.
  var redescribes = false

  /// Rebuilds renamed indexes instead of moving them: the records are rewritten too, and entries may refer to the old ones.
  mutating func rebuildMoved() {
    rebuilt.formUnion(moved.keys)
    dropped += moved.values
    moved = [:]
  }

  var isEmpty: Bool {
    rebuilt.isEmpty && evaluated.isEmpty && dropped.isEmpty && moved.isEmpty && !rekeys && rewritesOlderThan == nil
      && !redescribes
  }

  /// Whether instances have to be decoded.
  var needsInstances: Bool { !evaluated.isEmpty || changesInstances }

  /// Whether records, or the entries made from them, are rewritten in any case.
  var changesInstances: Bool { !rebuilt.isEmpty || rekeys || rewritesOlderThan != nil }
}

extension DatastoreCore {
  /// Compares the declaration with the stored descriptor.
  ///
  /// - Throws: ``DatastoreError/incompatibleVersion(version:)`` if the store is newer; a decoding error if the format does
  ///   not know the store's version.
  func plan(for stored: DatastoreDescriptor, isEmpty: Bool) throws -> WarmUpPlan {
    if !isEmpty, stored.version != coder.tag {
      let version = try VersionTag<Format>.version(of: stored.version, in: "\(key): ")
      if coder.version.rawValue < version.rawValue { throw DatastoreError.incompatibleVersion(version: stored.version) }
    }
    var plan = WarmUpPlan()
    plan.rekeys = stored.identifierEncoding != identifiers.encoding
    let declared = Set(indexes.map(\.name))
    for (place, index) in indexes.enumerated() where !plan.rekeys {
      plan.moved[place] = renamedIndex(index, in: stored)
    }
    let moved = Set(plan.moved.values)
    plan.dropped = stored.indexes.map(\.name).filter { !declared.contains($0) && !moved.contains($0) }
    for (place, index) in indexes.enumerated() where plan.moved[place] == nil {
      guard !plan.rekeys, let existing = stored.index(index.name), Self.fits(existing, index.descriptor) else {
        plan.rebuilt.insert(place)
        continue
      }
      if existing.isUnique != index.isUnique {
        if index.isUnique { plan.rebuilt.insert(place) } else { plan.redescribes = true }
      }
      if Self.names(existing) != Self.names(index.descriptor) || existing.target != index.descriptor.target {
        plan.redescribes = true
      }
      // Without a decoder for what it was made of, an index stays as the older code left it.
      if VersionTag<Format>.isOlder(existing.version, than: coder.version), !isEmpty,
        coder.hasDecoder(for: existing.version)
      {
        plan.evaluated.insert(place)
      }
    }
    plan.evaluated.subtract(plan.rebuilt)
    return plan
  }

  /// Whether a stored index is the declared one. Names of key paths are compared if both are known.
  static func fits(_ stored: IndexDescriptor, _ declared: IndexDescriptor) -> Bool {
    let differs = zip(names(stored), names(declared)).contains { stored, declared in
      if let stored, let declared { stored != declared && renamed(stored) != declared } else { false }
    }
    return !stored.isStale && stored.type == declared.type && stored.storage == declared.storage
      && stored.encoding == declared.encoding && stored.tiers.count == declared.tiers.count && !differs
  }

  private static func names(_ index: IndexDescriptor) -> [String?] {
    [index.keyPathName] + index.tiers.map(\.keyPathName)
  }

  /// A key path's name after the renames that the format declares, property by property.
  static func renamed(_ name: String) -> String {
    name.split(separator: ".").map { "." + (Format.renamedProperties[String($0)] ?? String($0)) }.joined()
  }
}
