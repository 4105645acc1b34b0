import StrataModel
import StrataDocuments

/// The targets of a record's references, and its joined and computed fields.
extension RecordPane {
  mutating func demandTargets(_ place: RecordPlace, in session: inout Session) {
    guard let document, let arranged else { return }
    // Whether the pane shows a tree or text does not change the targets.
    let source = session.selections.source.flatMap { $0.datastore == place.datastore && $0.derivesColumns ? $0 : nil }
    var asked = RequestedTargets(
      arranged: arranged, naming: session.naming, joined: source?.joined, computed: source?.computed)
    asked.arranged.form = .tree
    guard askedTargets != asked else { return }
    askedTargets = asked
    session.cancel(.references)
    targets = [:]
    if source == nil { showDerived([]) }
    guard let descriptor = session.outline?.datastore(place.datastore)?.descriptor,
      source != nil || !asked.naming.fields(of: descriptor).isEmpty
    else { return }
    session.start(
      .references,
      ReferencesRequest(
        place: place, commit: session.shown, document: document, naming: asked.naming, source: source))
  }

  mutating func showDerived(_ derived: [Document.Member]) {
    guard Document.object(derived) != .object(self.derived) else { return }
    self.derived = derived
    rebuild()
    applyWantedPath()
  }

  /// The record with its derived fields.
  var whole: Document? {
    guard !derived.isEmpty, case .object(let members)? = document else { return document }
    return .object(members + derived)
  }

  /// Why a command cannot change the selected field; nil if it can, or changes none.
  func derivation(barring command: Command, in session: Session) -> String? {
    let changing: [Command] = [
      .edit, .editExternally, .valueMenu, .insert, .paste, .deleteRecord, .restoreField, .moveUp, .moveDown,
    ]
    guard changing.contains(command), let line = selectedLine, line.isDerived else { return nil }
    return session.selections.source?.derivation(of: line.path) ?? "it is not stored in the record"
  }
}
