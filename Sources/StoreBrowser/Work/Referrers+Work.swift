package import StrataModel

/// Finds the records that refer to a record.
package struct ReferrersRequest: Question, Hashable {
  package var readsOn: Bool { true }
  package var place: RecordPlace
  package var commit: CommitNumber
  package var naming = Naming()

  /// Finds the referring records by the indexes that lead to the record's datastore, declared or set by the user; if there are none, by any
  /// index that has its identifier.
  package func reply(in context: WorkContext) throws(ModelError) -> ReferrersAnswer {
    let labels = LabelReader(context: context, commit: commit, naming: naming)
    var answer = ReferrersAnswer(request: self, groups: [])
    answer.label = try labels.label(of: place)
    let value = place.identifier.value
    let leading = try naming.indexes(of: context.datastores(at: commit), leadingTo: place.datastore)
    answer.isDeclared = !leading.isEmpty
    let candidates =
      answer.isDeclared
      ? leading : try context.datastores(at: commit).flatMap { datastore in datastore.indexes.map { (datastore, $0) } }
    for (datastore, index) in candidates {
      try context.goOn()
      guard let ranks = index.ranks(of: value) else { continue }
      let identifiers = try index.entries(at: ranks.prefix(50)).map(\.identifier)
      let isSelf = datastore.descriptor.key == place.datastore && identifiers == [place.identifier]
      guard answer.isDeclared || !isSelf else { continue }
      var names: [String] = []
      for identifier in identifiers.prefix(3) {
        let place = RecordPlace(datastore: datastore.descriptor.key, identifier: identifier)
        names.append(named(identifier, try labels.label(of: place)))
      }
      answer.groups.append(
        ReferrersAnswer.Group(
          datastore: datastore.descriptor.key, index: index.descriptor.name, value: value, count: ranks.count,
          names: names))
    }
    return answer
  }
}

package struct ReferrersAnswer: Sendable {
  package var request: ReferrersRequest
  package var groups: [Group]
  /// The label of the target record.
  package var label: String?
  /// Whether indexes are known to lead to its datastore; otherwise all that have its identifier are listed.
  package var isDeclared = false

  package struct Group: Sendable, Hashable {
    package var datastore: String
    package var index: String
    package var value: KeyValue
    package var count: Int
    /// The first of the referring records, by label.
    package var names: [String]
  }
}

extension ReadableIndex {
  /// The ranks of the entries with a value; nil if there are none, or if the index is stale.
  fileprivate func ranks(of value: KeyValue) -> Range<Int>? {
    guard !descriptor.isStale, (try? descriptor.encoding.encode(value)) != nil,
      let lower = try? rank(of: .before(value)),
      let upper = try? rank(of: .after(value)), lower < upper
    else { return nil }
    return lower..<upper
  }
}

extension WorkContext {
  /// Returns references that deletes would leave without their record, by fields whose target the user has said. The preview of the store
  /// has those by fields that are declared.
  func danglingReferences(
    after changes: ChangeSet, at commit: CommitNumber, _ naming: Naming
  ) throws(ModelError) -> [DanglingReference] {
    guard !naming.references.isEmpty else { return [] }
    var found: [DanglingReference] = []
    let datastores = try datastores(at: commit)
    let changed = Set(changes.changes.map(\.place))
    for edit in changes.changes.prefix(Self.reviewLimit) where edit.kind == .delete {
      try goOn()
      for (datastore, index) in naming.indexes(of: datastores, leadingTo: edit.datastore)
      where index.descriptor.target == nil {
        guard let ranks = index.ranks(of: edit.identifier.value) else { continue }
        for entry in try index.entries(at: ranks.prefix(20)) {
          let place = RecordPlace(datastore: datastore.descriptor.key, identifier: entry.identifier)
          guard !changed.contains(place) else { continue }
          found.append(DanglingReference(place: place, index: index.descriptor.name, target: edit.place))
        }
      }
    }
    return found
  }
}

extension Naming {
  /// The indexes that lead to a datastore, declared or set by the user.
  fileprivate func indexes(
    of datastores: [any ReadableDatastore], leadingTo target: String
  ) -> [(any ReadableDatastore, any ReadableIndex)] {
    datastores.flatMap { datastore in
      datastore.indexes.filter { leads($0.descriptor, of: datastore.descriptor, to: target) }.map { (datastore, $0) }
    }
  }

  private func leads(_ index: IndexDescriptor, of datastore: DatastoreDescriptor, to target: String) -> Bool {
    if let declared = index.target { return declared == target }
    guard let path = index.documentPath?.withoutPositions else { return false }
    return references[datastore.key]?[path] == target
  }
}
