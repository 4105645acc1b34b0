import StrataDocuments
import StrataModel
import StrataTerminal

/// The changes to be written, with their checks: letters are commands, Enter asks for the name, a second Enter commits.
struct ReviewOverlay: ListPane {
  static let entry = PaneEntry(
    id: .review, name: "Review", work: [.review, .commit, StepBackRequest.slot, .dropLetter],
    footer: [
      .open, .down, .leaveOut, .takeMine, .takeTheirs, .takeBase, .markStale, .stepBack, .listChanges, .help, .escape,
    ],
    commands: [
      CommandTable.row(
        .takeMine, ["m"], "keep mine", "mine", .write,
        "In a review and in a merge: of the field in conflict under the cursor, or of all fields of its record, keeps what is ours.",
        in: [.review, .merge]),
      CommandTable.row(
        .takeTheirs, ["t"], "keep theirs", "theirs", .write,
        "In a review and in a merge: of the field in conflict under the cursor, or of all fields of its record, keeps what is theirs.",
        in: [.review, .merge]),
      CommandTable.row(
        .markStale, ["X"], "mark indexes stale instead of refusing", "mark stale", .write,
        "In a review: indexes whose rule is not proven are marked stale, and filled at the app's next warm-up.",
        in: [.review]),
      CommandTable.row(
        .stepBack, ["B"], "step back before the merge", "step back", .write,
        "In the review that takes back a merge that no other copy has: moves the head back to before it, so that the next merge "
          + "brings the same changes again.", in: [.review]),
      CommandTable.row(
        .listChanges, ["P"], "list the changes", "list", .write,
        "In a review: lists every record that would be written.", in: [.review]),
    ])

  let subject: ReviewSubject
  /// How the browser leaves the store in memory after the commit; nil if it stays.
  private let leaving: Leaving?
  private(set) var answer: ReviewAnswer?
  private(set) var problem: ModelError?
  var list = ListWindow()
  /// The name of the commit, once it is asked for.
  var name: TextField?
  var isCommitting = false
  /// The review whose commit waits for the writer's lock. It goes on by itself if the same would be written then.
  private var waiting: ReviewAnswer?
  var marksIndexesStale = false
  /// The chosen sides for conflicting fields.
  var choices: [RecordPlace: [DocumentPath: MergeSide]] = [:]
  private(set) var lines: [Line] = []
  private var isAsked = false

  enum Line: Sendable, Hashable {
    case record(Int)
    case field(Int, Int, FieldText.Part)
    case entries(Int)
    case conflict(Int, Int)
    case note(String, Role)
    case blank
  }

  init(subject: ReviewSubject, leaving: Leaving? = nil) { (self.subject, self.leaving) = (subject, leaving) }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    guard !isAsked else { return }
    isAsked = true
    session.start(.review, ReviewRequest(subject: subject, naming: session.naming), label: "review")
  }

  /// Makes the review again, after something changed or the lock was released.
  mutating func renew() {
    isAsked = false
    problem = nil
    isCommitting = false
  }

  private mutating func show(_ answer: ReviewAnswer) {
    let (place, offset) = (selectedPlace, list.selection - (firstLine(of: selectedPlace) ?? 0))
    self.answer = answer
    problem = nil
    lines = []
    for (position, record) in answer.records.enumerated() {
      lines.append(.record(position))
      if let conflict = record.conflict {
        lines += (0..<max(1, conflict.fields.count)).map { .conflict(position, $0) }
      }
      for (place, field) in record.fields.enumerated() {
        lines += FieldText.parts(field).map { .field(position, place, $0) }
      }
      if !record.entries.isEmpty { lines.append(.entries(position)) }
    }
    if answer.isCut { lines.append(.note("… and more, all of which are counted above", .dim)) }
    lines.append(.blank)
    lines += checks(answer)
    guard let first = firstLine(of: place) else { return list.select(list.selection, count: lines.count) }
    list.select(first + offset, count: lines.count)
    if selectedPlace != place { list.selection = first }
  }

  private func firstLine(of place: RecordPlace?) -> Int? {
    lines.firstIndex { if case .record(let record) = $0 { answer?.records[record].place == place } else { false } }
  }

  /// The changed record under the cursor.
  var selectedPlace: RecordPlace? {
    switch list.selected(of: lines) {
    case .record(let record), .field(let record, _, _), .entries(let record), .conflict(let record, _):
      answer?.records[record].place
    case .note, .blank, nil: nil
    }
  }

  /// The changed field under the cursor; nil on other lines, and for inserted or deleted records.
  private var selectedField: DocumentPath? {
    guard let answer, case .field(let record, let field, _) = list.selected(of: lines),
      answer.records[record].kind == .update
    else { return nil }
    return try? DocumentPath(parsing: answer.records[record].fields[field].path)
  }

  /// The conflicting field under the cursor, or all of the record whose line it is; the root if whole records conflict.
  private var selectedConflict: (conflict: EditConflict, paths: [DocumentPath])? {
    guard let place = selectedPlace,
      let conflict = answer?.records.first(where: { $0.place == place })?.conflict
    else { return nil }
    let paths = conflict.fields.isEmpty ? [.root] : conflict.fields.map(\.path)
    switch list.selected(of: lines) {
    case .record: return (conflict, paths)
    case .conflict(_, let field) where paths.indices.contains(field): return (conflict, [paths[field]])
    default: return nil
    }
  }

  /// Why the changes cannot be committed; nil if they can.
  var refusal: String? {
    guard let answer else { return problem?.description ?? "the review is still being made" }
    if answer.records.isEmpty {
      if case .undo(let commit, _) = subject, let kept = answer.kept, kept.sentence != nil {
        return kept.unreadable ?? "later commits changed all that \(commit) changed"
      }
      return "there is nothing to commit"
    }
    let conflicts = answer.rebased?.conflicts ?? []
    if let first = conflicts.first ?? answer.preview?.conflicts.first { return first.sentence }
    if let unique = answer.preview?.uniqueness.first(where: \.isEnforced) { return unique.sentence }
    if let refused = answer.preview?.refusals.first(where: { !($0.canBeMarkedStale && marksIndexesStale) }) {
      return refused.reason + (refused.canBeMarkedStale ? " (X marks the index stale instead)" : "")
    }
    return nil
  }

  /// The proposed name, which describes the changes; the user can edit it.
  var proposedName: String {
    guard let answer else { return "" }
    switch subject {
    case .undo(let commit, let isRedo):
      return
        "\(isRedo ? "redo" : "undo") \(commit)\(answer.subjectCommit.map { $0.action.isEmpty ? "" : ": \($0.action)" } ?? "")"
    case .restore(let commit, let datastore): return "restore \(datastore.map { "\($0) " } ?? "")to \(commit)"
    case .letter(let letter): return letter.action
    case .staged, .migration: break
    }
    guard let first = answer.records.first else { return "" }
    let place = "\(first.place.datastore) \(ValueText(key: first.place.identifier.value).text)"
    if answer.changes.count == 1 {
      switch first.kind {
      case .insert: return "\(place): new"
      case .delete: return "\(place): delete"
      case .update:
        let fields = first.fields.prefix(3).map { String($0.path.drop { $0 == "." }) }.joined(separator: ", ")
        return "\(place): \(fields)\(first.fields.count > 3 ? ", …" : "")"
      }
    }
    return answer.counts.map { count in
      var parts: [String] = []
      if count.updated > 0 { parts.append("\(count.updated) changed") }
      if count.inserted > 0 { parts.append("\(count.inserted) new") }
      if count.deleted > 0 { parts.append("\(count.deleted) deleted") }
      return "\(count.datastore): \(parts.joined(separator: ", "))"
    }.joined(separator: "; ")
  }

  mutating func commit(in session: inout Session) {
    guard let answer, let name, !isCommitting else { return }
    isCommitting = true
    waiting = nil
    problem = nil
    let request = CommitRequest(
      subject: subject, changes: answer.changes, name: name.text.trimmed, marksIndexesStale: marksIndexesStale)
    session.start(.commit, request, label: "commit") { [leaving] in
      $0.committed($1, request)
      if let leaving { $0.leave(leaving) }
    }
  }
}

// MARK: Keys and replies

extension ReviewOverlay {
  func headerRows(_ frame: PaneFrame) -> Int { 2 }
  func footerRows(_ frame: PaneFrame) -> Int { 2 }
  func lineCount(_ session: Session) -> Int { lines.count }

  func footer(_ session: Session) -> [Command] {
    if isCommitting { return [.escape] }
    if name != nil { return [.open, .escape] }
    var commands: [Command] = answer == nil || refusal == nil ? [.open, .down] : [.down]
    if subject.canLeaveOut { commands += [.leaveOut] }
    if answer?.rebased?.conflicts.isEmpty == false, letter == nil { commands += [.takeMine, .takeTheirs, .takeBase] }
    if answer?.preview?.refusals.contains(where: \.canBeMarkedStale) == true { commands.append(.markStale) }
    if answer?.isMergeSent == false { commands.append(.stepBack) }
    return commands + [.listChanges, .help, .escape]
  }

  private var isOfMigration: Bool { if case .migration = subject { true } else { false } }
  var letter: LetterNotice? { if case .letter(let letter) = subject { letter } else { nil } }

  func short(_ command: Command) -> String? {
    switch command {
    case .open: isOfMigration ? "run with these" : letter != nil ? "apply" : name == nil ? "name and commit" : "commit"
    case .leaveOut: letter == nil ? nil : "delete the letter"
    case .escape: isCommitting ? "cancel" : name == nil ? "back" : "back to the list"
    default: nil
    }
  }

  func refusal(of command: Command, in session: Session) -> String? {
    switch command {
    case .leaveOut:
      if letter != nil { return nil }
      guard case .staged = subject else { return "nothing of this is staged" }
      return selectedPlace == nil ? "choose a record first" : nil
    case .takeMine, .takeTheirs, .takeBase:
      guard case .staged = subject, selectedConflict != nil else { return "choose a field in conflict first" }
      return nil
    case .stepBack:
      switch answer?.isMergeSent {
      case false?: return nil
      case true?: return "others have this merge already: only an undo takes it back"
      case nil: return "only a merge that is the newest commit is stepped back before"
      }
    default: return nil
    }
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    guard let answer = reply as? ReviewAnswer, answer.request.subject == subject else { return }
    show(answer)
    guard let waiting else { return }
    self.waiting = nil
    if refusal == nil, answer.writesTheSame(as: waiting) {
      commit(in: &session)
    } else {
      session.warn("the lock is free again, and what would be written has changed meanwhile")
    }
  }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    problem = error
    let wasCommitting = isCommitting
    isCommitting = false
    if case .conflict = error { renew() }
    session.complain(error)
    guard case .locked = error, wasCommitting else { return }
    waiting = answer
    session.warn("\(error) — it is committed when the lock is free; Esc stops that")
  }

  mutating func type(_ chord: KeyChord, in session: inout Session) -> Bool {
    guard !isCommitting, name?.apply(chord) == true else { return false }
    waiting = nil
    return true
  }

  mutating func paste(_ text: String, in session: inout Session) -> Bool {
    waiting = nil
    return name?.insert(text.replacing("\n", with: " ")) != nil
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    if isCommitting {
      if command == .escape || command == .interrupt { session.askToEnd(.commit) }
      return true
    }
    if name != nil, command == .open || command == .escape {
      if command == .open { commit(in: &session) } else { (name, waiting) = (nil, nil) }
      return true
    }
    switch command {
    case .interrupt: session.intend(.dismiss)
    case .open: askForName(in: &session)
    case .leaveOut: leaveOut(in: &session)
    case .takeMine: resolveConflict(by: .mine, in: &session)
    case .takeTheirs: resolveConflict(by: .theirs, in: &session)
    case .takeBase: resolveConflict(by: .base, in: &session)
    case .markStale:
      marksIndexesStale.toggle()
      renew()
      session.say(
        marksIndexesStale
          ? "indexes without a proven rule will be marked stale" : "indexes stay right or the commit is refused")
    case .stepBack:
      guard case .undo(let merge, _) = subject else { return false }
      session.start(StepBackRequest.slot, StepBackRequest(merge: merge), label: "step back") { browser, head in
        browser.endReview("the head is \(head) again; no history contains the merge \(merge)")
        browser.wrote(head, over: merge)
      }
    case .listChanges:
      let lines = answer?.changes.changes.map { "\($0.kind.rawValue) \($0.datastore)/\($0.identifier)" } ?? []
      session.intend(.present(TextOverlay(title: "The changes of this commit", lines: lines)))
    case .nextPane: return move(.down, argument: nil, frame: frame, in: &session)
    default: return false
    }
    return true
  }

  private mutating func askForName(in session: inout Session) {
    if let refusal {
      session.warn(refusal)
    } else if case .migration(let changes) = subject {
      session.intend(.dismiss, Intent { $0.with(MigrationPane.self) { $0.start(mending: changes.changes, in: &$1) } })
    } else {
      name = TextField(proposedName, isSelected: true)
      // A letter has the name of its commit.
      if letter != nil { commit(in: &session) }
    }
  }

  private func leaveOut(in session: inout Session) {
    if let letter {
      let drop = Inquiry { context throws(ModelError) in try context.ownStore().dropLetter(letter.name) }
      return session.start(.dropLetter, drop, label: "delete the letter") { browser, _ in
        browser.endReview("the letter “\(letter.action)” is deleted")
      }
    }
    guard let place = selectedPlace else { return }
    session.intend(.dismiss)
    if let path = selectedField {
      session.intend(Intent { $0.leaveFieldOut(place, path) })
    } else {
      session.intend(.stage(.leavingOut(place, of: session.staged)))
    }
    session.intend(.reviewStaged)
  }

  /// Decides one conflicting field. Once all fields of a record are decided, the change is staged over the present content.
  private mutating func resolveConflict(by side: MergeSide, in session: inout Session) {
    guard let (conflict, paths) = selectedConflict else { return }
    let place = conflict.place
    for path in paths { choices[place, default: [:]][path] = side }
    session.say("\(paths.map(\.shortText).joined(separator: ", ")): \(side)")
    let decided = choices[place] ?? [:]
    guard conflict.fields.allSatisfy({ decided[$0.path] != nil }),
      let descriptor = session.outline?.datastore(place.datastore)?.descriptor
    else { return }
    do throws(ModelError) {
      let edit = try conflict.resolved(by: decided, descriptor: descriptor)
      var step = StagedStep.leavingOut(place, of: session.staged)
      step.title = session.staged.count > 1 ? step.title : "what lies there is kept; nothing is staged any more"
      let fields = conflict.fields.map(\.path.shortText).joined(separator: ", ")
      if let edit { step = StagedStep(title: "\(fields) of \(place.identifier) as decided", edits: [edit]) }
      session.intend(.dismiss, .stage(step), .reviewStaged)
    } catch { session.complain(error) }
  }
}
