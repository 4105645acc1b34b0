import StrataModel

/// Imports a file, or with a dry plan only counts the changes.
struct ImportRequest: Question, Hashable {
  var file: String
  var encoding: TextEncoding?
  var plan: ImportPlan

  func reply(in context: WorkContext) throws(ModelError) -> ImportReply {
    guard let store = context.store as? EngineStore else {
      throw .readOnly(reason: "stores of this kind are only read")
    }
    var source = try TableSource(path: context.files.expanding(file), encoding: encoding)
    return ImportReply(request: self, report: try Importer(store, plan, activity: context.going).run(&source))
  }
}

struct ImportReply: WordedReply {
  var request: ImportRequest
  var report: ImportReport

  var sentence: String {
    var parts = ["\(NumberFormat.count(report.new)) new"]
    if report.changed > 0 { parts.append("\(NumberFormat.count(report.changed)) changed") }
    if report.unchanged > 0 { parts.append("\(NumberFormat.count(report.unchanged)) unchanged") }
    if report.repeated > 0 { parts.append("\(NumberFormat.counted(report.repeated, "row")) replaced by later ones") }
    if report.rejected > 0 { parts.append("\(NumberFormat.counted(report.rejected, "row")) left out") }
    let commit = report.commit.map { "complete: commit \($0), " } ?? ""
    return commit + parts.joined(separator: ", ")
  }
}
