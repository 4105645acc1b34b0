package import StrataModel

/// Finds the records that refer to a record.
package struct ReferrersRequest: Question, Hashable {
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
    let view = try context.view(commit)
    let leading = try view.datastores.flatMap { datastore in
      datastore.indexes.filter {
        naming.leads($0.descriptor, of: datastore.descriptor, to: place.datastore)
      }
      .map { (datastore, $0) }
    }
    answer.isDeclared = !leading.isEmpty
    let candidates =
      answer.isDeclared
      ? leading : try view.datastores.flatMap { datastore in datastore.indexes.map { (datastore, $0) } }
    for (datastore, index) in candidates where !index.descriptor.isStale {
      try context.goOn()
      guard (try? index.descriptor.encoding.encode(value)) != nil,
        let lower = try? index.rank(of: .before(value)), let upper = try? index.rank(of: .after(value)), lower < upper
      else { continue }
      let identifiers = try index.entries(at: lower..<min(upper, lower + 50)).map(\.identifier)
      let isSelf = datastore.descriptor.key == place.datastore && identifiers == [place.identifier]
      guard answer.isDeclared || !isSelf else { continue }
      var names: [String] = []
      for identifier in identifiers.prefix(3) {
        let place = RecordPlace(datastore: datastore.descriptor.key, identifier: identifier)
        names.append(named(identifier, try labels.label(of: place)))
      }
      answer.groups.append(
        ReferrersAnswer.Group(
          datastore: datastore.descriptor.key, index: index.descriptor.name, value: value, count: upper - lower,
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

extension Naming {
  fileprivate func leads(_ index: IndexDescriptor, of datastore: DatastoreDescriptor, to target: String) -> Bool {
    if let declared = index.target { return declared == target }
    guard let path = index.documentPath?.withoutPositions else { return false }
    return references[datastore.key]?[path] == target
  }
}
