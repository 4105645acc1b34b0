import StrataModel
import StrataEngine

extension DatastoreCore {
  /// Walks along the index of a reference and the identifiers of its target together.
  func dangling<Target: DatastoreFormat, Value: Indexable>(
    _ path: KeyPath<Format, ReferenceRepresentation<Instance, Target, Value>>, in target: DatastoreCore<Target>
  ) async throws -> [DanglingReference<Identifier, Target.Identifier>] {
    let reference = format[keyPath: path]
    let index = try index(at: path)
    guard let coder = index.coder as? KeyCoder<Value> else { throw DatastoreError.missingIndex }
    let seen = try await target.ready()
    let state = try await ready()
    let (records, tree) = try trees(of: index, in: state)
    guard records != nil else { return [] }
    guard let tree else { throw missing(index) }
    // Two datastores of the present are read as of one moment.
    let isOneMoment = view == nil && target.view == nil
    let targets = try (isOneMoment ? state : seen).tree(target.recordsTree)

    // If both are kept as bytes in the same encoding, a value is the key of the target.
    let isKey =
      index.order.value.isBytes && target.identifiers.order.isBytes
      && index.descriptor.encoding.content == target.identifiers.encoding
    let merge = ReferenceMerge(
      entries: tree, targets: targets, order: target.identifiers.order,
      naming: isKey
        ? .key
        : .translated { value in
          try coder.value(of: value).flatMap(reference.identifier).map { try target.key(of: $0) }
        })
    return try await all(merge, in: target)
  }

  /// On no actor: the walk along many references would hold it up.
  @concurrent private func all<Target: DatastoreFormat>(
    _ merge: sending ReferenceMerge, in target: DatastoreCore<Target>
  ) async throws -> [DanglingReference<Identifier, Target.Identifier>] {
    var merge = merge
    var dangling: [DanglingReference<Identifier, Target.Identifier>] = []
    var last: (key: [UInt8], value: Target.Identifier)?
    while let found = try throwingStoreErrors({ try merge.next() }) {
      try Task.checkCancellation()
      if last?.key != found.target { last = target.identifiers.value(of: found.target).map { (found.target, $0) } }
      guard let named = last?.value, let id = identifiers.value(of: found.identifier) else { continue }
      dangling.append(DanglingReference(id: id, target: named))
    }
    return dangling
  }
}
