import DatastoreModel
import Documents

/// Groups the rows that the table shows by a field, with figures over another.
struct GroupRequest: Question, Hashable {
  var source: RowSource
  var commit: CommitNumber
  var key: DocumentPath
  /// The field of sum, mean, least and greatest; nil counts only.
  var field: DocumentPath?

  struct Reply: Sendable {
    var request: GroupRequest
    /// In the order of their keys.
    var groups: [RecordGroup]
    var columns: [String]
    /// How they were found, as `records --explain` says it.
    var plan: String
  }

  private var grouping: RecordGrouping {
    RecordGrouping(
      by: [key], figures: [.count] + (field.map { [.sum($0), .mean($0), .least($0), .greatest($0)] } ?? []))
  }

  func reply(in context: WorkContext) throws(ModelError) -> Reply {
    let grouping = grouping
    let datastore = try context.datastore(source.datastore, at: commit)
    let total = try datastore.count
    let query = RecordQuery(filter: try source.filter.map { text throws(ModelError) in try RowTest(text).filter })
    do {
      if source.range != nil {
        // A condition cannot express the range of an index: its rows are read.
        let rows = try RowReader(source, ranks: nil, at: commit, in: context)
        let groups = try grouping.groups(of: { add in
          try rows.forEach(selecting: [key] + (field.map { [$0] } ?? [])) { _, document in add(document ?? .null) }
        })
        return Reply(request: self, groups: groups, columns: grouping.columns, plan: "SCAN of the range")
      }
      let groups = try grouping.groups(of: query, in: datastore) { read in
        try context.goOn()
        context.report(Progress(done: read, total: total))
      }
      let plan = try grouping.explanation(of: query, in: datastore)
      return Reply(request: self, groups: groups, columns: grouping.columns, plan: plan)
    } catch let error as ModelError {
      throw error
    } catch {
      throw .storage("\(error)", kind: .failed)
    }
  }
}

/// Writes groups to a file, in the order in which they are shown.
struct GroupExport: Question {
  var groups: [RecordGroup]
  var columns: [String]
  var file: String
  var format: TableWriter.Format

  struct Reply: WordedReply {
    var sentence: String
  }

  func reply(in context: WorkContext) throws(ModelError) -> Reply {
    guard !context.files.exists(file) else { throw .refused(reason: "\(file) is there already; give another name") }
    let output = try context.files.create(file)
    do throws(ModelError) {
      var bytes = 0
      var writer = TableWriter(format, columns: columns.map { DocumentPath([.member($0)]) })
      bytes += try output.write(writer.beginning)
      for group in groups {
        try context.goOn()
        bytes += try output.write(writer.row(.object(zip(columns, group.cells).map { Document.Member($0, $1) })))
      }
      bytes += try output.write(writer.end)
      try output.close()
      return Reply(sentence: "\(NumberFormat.counted(groups.count, "group")), \(NumberFormat.bytes(bytes)) in \(file)")
    } catch {
      output.discard()
      throw error
    }
  }
}
