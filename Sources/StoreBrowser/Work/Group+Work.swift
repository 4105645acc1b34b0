import StrataModel
import StrataDocuments
import StrataExpressions

/// Groups the rows that the table shows by one or more fields, with figures over another.
struct GroupRequest: RowsQuestion, Hashable {
  var source: RowSource
  var commit: CommitNumber
  var keys: [DocumentPath]
  /// The field of sum, mean, least and greatest; nil counts only.
  var field: DocumentPath?
  /// The ranks of the rows, if they are limited.
  var ranks: RowRanks?

  struct Reply: Sendable {
    /// In the order of their keys.
    var groups: [RecordGroup]
    var columns: [String]
    /// How they were found, as `records --explain` says it.
    var plan: String
    var largestCount: Int

    init(_ groups: [RecordGroup], by grouping: RecordGrouping, plan: String) {
      (self.groups, columns, self.plan) = (groups, grouping.columns, plan)
      largestCount = groups.reduce(0) { max($0, $1.count) }
    }
  }

  private var grouping: RecordGrouping {
    RecordGrouping(
      by: keys, figures: [.count] + (field.map { [.sum($0), .mean($0), .least($0), .greatest($0)] } ?? []))
  }

  func reply(in context: WorkContext) throws(ModelError) -> Reply {
    let grouping = grouping
    let datastore = try context.datastore(source.datastore, at: commit)
    let total = try datastore.count
    let query = RecordQuery(filter: try source.condition)
    return try onFailures {
      if try source.range != nil || ranks != nil || !source.hasAll(of: datastore)
        || source.derives(keys + (field.map { [$0] } ?? []) + (query.filter?.paths ?? []))
      {
        // No condition expresses the rows of an index, and no index has a derived column: the rows are read.
        let rows = try RowReader(source, ranks: ranks, at: commit, in: context)
        let groups = try grouping.groups(of: { add in
          try rows.forEach(selecting: keys + (field.map { [$0] } ?? [])) { _, document in add(document ?? .null) }
        })
        let plan = source.range == nil ? "SCAN" : "SCAN of the range"
        return Reply(groups, by: grouping, plan: plan)
      }
      let groups = try grouping.groups(of: query, in: datastore) { read in
        try context.goOn()
        context.report(Progress(done: read, total: total))
      }
      let plan = try grouping.explanation(of: query, in: datastore)
      return Reply(groups, by: grouping, plan: plan)
    }
  }

  /// The conditions for the rows of a group.
  func conditions(of group: RecordGroup) -> [String] {
    zip(keys, group.keys).map { Filter.text(of: $0, being: $1) }
  }
}

extension RowSource {
  /// The filter for those of its rows that meet some conditions.
  func filter(adding conditions: [String]) -> String {
    var conditions = conditions
    if let text = filter?.trimmed {
      let isInverted = text.hasPrefix("!") && !text.hasPrefix("!=")
      conditions.append(isInverted ? "not (\(text.dropFirst()))" : "(\(text))")
    }
    return conditions.joined(separator: " and ")
  }
}
