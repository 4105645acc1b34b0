import StrataDocuments

@testable import StrataModel

extension ChangePreview {
  /// Whether a commit would succeed.
  var isPossible: Bool { conflicts.isEmpty && refusals.isEmpty && !uniqueness.contains { $0.isEnforced } }
}

extension TableWriter {
  /// The columns that hold all leaves of these documents.
  static func columns(of documents: some Sequence<Document>) -> [DocumentPath] {
    var survey = TableColumns()
    for document in documents { survey.see(document) }
    return survey.columns
  }
}
