import StrataModel
import StrataDocuments
import StrataExchange
import StrataTerminal

/// The merge of a commit into the head, before anything is written: the conflicts, field by field with each side's value and the result,
/// and the records that merge without one. The user's decisions are kept as a draft until they are committed.
struct MergePane: ListPane, PermanentPane {
  static let entry = PaneEntry(
    id: .merge, name: "Merge", work: [.mergePlan, .mergeCheck, .mergeCommit],
    footer: [
      .takeMine, .takeTheirs, .takeBase, .edit, .settleRest, .searchNext, .commitMerge, .takeBack, .help, .close,
    ],
    commands: [
      CommandTable.row(
        .takeBase, ["b"], "keep what was there before", "base", .write,
        "In a review and in a merge: of the field in conflict under the cursor, or of all fields of its record, keeps what it "
          + "was before both changes.", in: [.merge, .review]),
      CommandTable.row(
        .settleRest, ["a"], "settle the rest of a merge by a rule", "rest", .exchange,
        argument: .init("ours|theirs|later", isRequired: false),
        "Settles every conflict that is still open: as it is here, as it is there, or as the side has it that changed the field later.",
        in: [.merge]),
      CommandTable.row(
        .takeBack, ["x"], "open the decision again", "open again", .exchange,
        "Takes back what was decided of the field, or of the record, under the cursor.", in: [.merge]),
      CommandTable.row(
        .commitMerge, ["c"], "commit the merge", "commit", .exchange, argument: .init("NAME", isRequired: false),
        "Writes the merge as one commit with two parents, once no conflict is open; `u` takes it back like any commit.",
        in: [.merge], unless: .writing),
    ], hasOwnKeys: true
  ) { MergePane() }

  var list = ListWindow()
  private(set) var reading = Reading<MergePlanRequest>()
  private(set) var isCommitting = false
  /// The user's decisions, kept as a draft.
  var decisions: [RecordPlace: [DocumentPath: MergeDecision]] = [:]
  /// The conflicts that are still open.
  private var openPlaces: Set<RecordPlace> = []
  var lines: [Line] = []
  /// Why the decided records cannot be in one store, as sentences; nil until everything is decided and checked.
  var collisions: [String]?
  private var checked: [RecordPlace: [DocumentPath: MergeDecision]]?
  var theirs: CommitNumber?

  var reply: MergePlanReply? { reading.reply }

  enum Line: Sendable, Hashable {
    case conflict(Int)
    case field(Int, Int)
    case heading(String)
    case clean(Int)
    case note(String)
    case blank
  }

  mutating func show(_ theirs: CommitNumber) {
    guard theirs != self.theirs || reading.problem != nil else { return }
    self = MergePane()
    self.theirs = theirs
  }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    guard frame != .hidden, let theirs else { return }
    if isCommitting, !session.isRunning(.mergeCommit) {
      isCommitting = false
      session.say("cancelled: nothing was merged, and what was decided stays decided")
    }
    guard !isCommitting else { return }
    // Closing the pane ended the work.
    if reading.request != reading.answered, reading.problem == nil, !session.isRunning(.mergePlan) {
      reading.request = nil
    }
    checkDecisions(of: theirs, in: &session)
    let request = MergePlanRequest(theirs: theirs, head: session.head, naming: session.naming)
    reading.ask(request, as: .mergePlan, label: "merge \(theirs)", in: &session)
  }

  /// Once no conflict is open, checks whether the decided records can be in one store: those with one value of a unique index cannot.
  private mutating func checkDecisions(of theirs: CommitNumber, in session: inout Session) {
    guard let reply, !reply.conflicts.isEmpty,
      checked != decisions || collisions == nil && !session.isRunning(.mergeCheck)
    else { return }
    if collisions?.isEmpty == false {
      collisions = nil
      rebuild(reply)
    }
    (collisions, checked) = (nil, nil)
    guard openCount == 0 else { return }
    checked = decisions
    let merge = DecidedMerge(theirs: theirs, decisions: decisions, rows: reply.conflicts)
    let check = Inquiry { context throws(ModelError) in
      try context.exchanging { try $0.collisions(after: merge.plan(by: $0)).map(\.sentence) }
    }
    session.start(.mergeCheck, check)
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    switch reply {
    case let found as [String] where checked != nil:
      collisions = found
      self.reply.map { rebuild($0) }
    case let reply as MergePlanReply where reading.request != nil: show(reply, in: &session)
    case let merged as MergeReply:
      decisions = [:]
      keepDraft(of: [], in: &session)
      self = MergePane()
      session.say(merged.sentence)
      session.intend(.closeView(id), .wrote(merged.move), .look)
    default: break
    }
  }

  private mutating func show(_ reply: MergePlanReply, in session: inout Session) {
    let isFirst = self.reply == nil
    reading.take(reply)
    reading.problem = nil
    // The collisions are those of the former plan.
    (collisions, checked) = (nil, nil)
    if isFirst { restoreDraft(in: session) }
    // Decisions about records that are no longer in conflict are dropped.
    let places = Set(reply.conflicts.map(\.place))
    decisions = decisions.filter { places.contains($0.key) }
    openPlaces = []
    lookAgain(at: reply.conflicts)
    rebuild(reply)
    if isFirst, let first = lines.firstIndex(where: isOpen) { list.selection = first }
  }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    isCommitting = false
    switch slot {
    case .mergePlan: reading.problem = error.description
    case .mergeCheck: collisions = []
    default: reading.request = nil
    }
    session.complain(error)
  }

  mutating func cancelled(_ slot: WorkSlot, in session: inout Session) {
    isCommitting = false
    if slot == .mergePlan { reading.problem = "it was called off" }
  }

  // MARK: Decisions

  var openCount: Int { openPlaces.count }

  /// Looks again which of some conflicts are open. To look at one merges its record, so that not all of them are looked at with every key.
  private mutating func lookAgain(at rows: [MergeRow]) {
    for row in rows {
      if row.settlement(decisions[row.place] ?? [:]) == nil {
        openPlaces.insert(row.place)
      } else {
        openPlaces.remove(row.place)
      }
    }
  }

  func decision(_ row: MergeRow, _ field: MergeField?) -> MergeDecision? {
    let decided = decisions[row.place] ?? [:]
    return decided[.root] ?? field.flatMap { decided[$0.path] }
  }

  private func isOpen(_ line: Line) -> Bool {
    guard let reply else { return false }
    switch line {
    case .conflict(let position):
      let row = reply.conflicts[position]
      return row.isWhole && row.settlement(decisions[row.place] ?? [:]) == nil
    case .field(let position, let index):
      let row = reply.conflicts[position]
      return row.fields[index].isConflict && decision(row, row.fields[index]) == nil
    case .heading, .clean, .note, .blank: return false
    }
  }

  /// The conflict under the cursor, and its field if the cursor is on one.
  private var selected: (row: MergeRow, field: MergeField?)? {
    guard let reply else { return nil }
    switch list.selected(of: lines) {
    case .conflict(let position): return (reply.conflicts[position], nil)
    case .field(let position, let field): return (reply.conflicts[position], reply.conflicts[position].fields[field])
    case .heading, .clean, .note, .blank, nil: return nil
    }
  }

  /// Decides the field under the cursor, or all fields of the record under it.
  private mutating func decide(_ side: MergeSide, in session: inout Session) {
    guard let (row, field) = selected else { return }
    if let field, field.isConflict, !row.isWhole {
      decisions[row.place, default: [:]][.root] = nil
      decisions[row.place, default: [:]][field.path] = .side(side)
    } else if row.isWhole {
      decisions[row.place] = [.root: .side(side)]
    } else {
      for conflict in row.conflict.fields { decisions[row.place, default: [:]][conflict.path] = .side(side) }
    }
    lookAgain(at: [row])
    keepDraft(of: [row.place], in: &session)
    step()
  }

  mutating func settle(_ value: Document, from editor: ValueEditor, in session: inout Session) {
    decisions[editor.place, default: [:]][editor.path] = .value(value)
    lookAgain(at: reply?.conflicts.filter { $0.place == editor.place } ?? [])
    keepDraft(of: [editor.place], in: &session)
    step()
  }

  private mutating func settleRest(_ argument: String?, in session: inout Session) {
    guard let reply else { return }
    guard let argument else { return askForRest(in: &session) }
    guard let policy = MergePolicy(rawValue: argument.trimmed), policy != .ask else {
      return session.warn("the rest is settled as ours, theirs or later")
    }
    for row in reply.conflicts
    where !row.conflict.isCollision && openPlaces.contains(row.place) {
      func side(_ later: MergeSide?) -> MergeSide {
        switch policy {
        case .ours: .mine
        case .theirs: .theirs
        case .later, .ask: later ?? .mine
        }
      }
      if row.isWhole { decisions[row.place] = [.root: .side(side(row.later))] }
      for field in row.fields where field.isConflict && decisions[row.place]?[field.path] == nil {
        decisions[row.place, default: [:]][field.path] = .side(side(field.later))
      }
    }
    lookAgain(at: reply.conflicts)
    keepDraft(of: Set(decisions.keys), in: &session)
    session.say("the rest is settled: \(policy.rawValue); x opens a decision again")
  }

  private mutating func unsettle(in session: inout Session) {
    guard let (row, field) = selected else { return }
    let path = row.isWhole && !row.conflict.isCollision ? nil : field?.path
    if let path { decisions[row.place]?[path] = nil } else { decisions[row.place] = nil }
    lookAgain(at: [row])
    keepDraft(of: [row.place], in: &session)
  }

  /// Selects the next or previous open conflict, if there is one.
  private mutating func step(_ command: Command = .searchNext) {
    var list = list
    _ = list.select(command, count: lines.count) { isOpen(lines[$0]) }
    self.list = list
  }

  // MARK: Keys

  func headerRows(_ frame: PaneFrame) -> Int { 2 }
  func lineCount(_ session: Session) -> Int { lines.count }

  func refusal(of command: Command, in session: Session) -> String? {
    if isCommitting, command != .escape { return "the merge is being written" }
    switch command {
    case .takeMine, .takeTheirs, .takeBase, .takeBack:
      guard let selected else { return "choose a conflict first (n)" }
      if let field = selected.field, case .merges = field.status { return "this field merges by itself" }
      if selected.row.conflict.isCollision, command != .takeBack {
        return "either side alone would lose a record: give this one another value (e on a field)"
      }
    case .edit:
      guard let selected, let field = selected.field, field.isConflict || selected.row.conflict.isCollision else {
        return "choose a field in conflict first"
      }
    case .searchNext, .searchPrevious, .settleRest:
      if openCount == 0 { return "no conflict is open" }
    case .commitMerge:
      guard reply != nil else { return reading.problem ?? "the merge is still being looked at" }
      if reply?.plan.kind == .nothing { return "there is nothing to merge" }
      let open = openCount
      if open > 0 {
        return "\(NumberFormat.counted(open, "conflict")) to settle first: n goes there, a settles the rest"
      }
      if reply?.conflicts.isEmpty == false, collisions == nil { return "what was decided is being looked at" }
      if let collision = collisions?.first { return "\(collision); x opens a decision again" }
    default: break
    }
    return nil
  }

  func footer(_ session: Session) -> [Command] {
    guard let reply, !reply.conflicts.isEmpty else { return [.commitMerge, .down, .help, .close] }
    return Self.entry.footer
  }

  func short(_ command: Command) -> String? {
    switch command {
    case .searchNext: "next"
    case .edit: "by hand"
    case .close: decisions.isEmpty ? "close" : "keep as draft"
    default: nil
    }
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    switch command {
    case .takeMine: decide(.mine, in: &session)
    case .takeTheirs: decide(.theirs, in: &session)
    case .takeBase: decide(.base, in: &session)
    case .takeBack: unsettle(in: &session)
    case .searchNext, .searchPrevious: step(command)
    case .edit: edit(frame, in: &session)
    case .settleRest: settleRest(argument, in: &session)
    // It may be written already.
    case .escape where isCommitting, .interrupt where isCommitting: session.askToEnd(.mergeCommit)
    case .commitMerge: commit(argument, in: &session)
    case .open:
      guard case .clean(let position) = list.selected(of: lines), let reply else { return false }
      session.intend(.select(reply.clean[position].place), .focus(.record))
    default: return false
    }
    return true
  }

  private func askForRest(in session: inout Session) {
    let open = NumberFormat.counted(openCount, "conflict")
    session.intend(
      .present(
        MenuOverlay(
          title: "Settle \(open)",
          items: [
            .init(title: "as the later change has it", choice: .run(.settleRest, argument: "later")),
            .init(title: "as it is here", detail: "ours", choice: .run(.settleRest, argument: "ours")),
            .init(title: "as it is there", detail: "theirs", choice: .run(.settleRest, argument: "theirs")),
            .init(title: "one by one"),
          ])))
  }

  private func edit(_ frame: PaneFrame, in session: inout Session) {
    guard let (row, field) = selected, let field, let reply else { return }
    let shown = decisions[row.place]?[field.path]
    let sides = field.sides
    var value = row.conflict.isCollision ? sides.theirs : sides.mine ?? sides.theirs
    if case .value(let decided)? = shown { value = decided }
    if case .side(.theirs)? = shown { value = sides.theirs }
    var editor = ValueEditor(place: row.place, path: field.path, old: value)
    editor.merging = reply.plan.theirs.text
    editor.seen = [sides.mine, sides.theirs, sides.base].compactMap { $0.map { FieldKind.text(of: $0) } }
    let line = frame.inside.top + headerRows(frame) + list.selection - list.top
    editor.line = Rect(column: frame.inside.left, row: line, columns: frame.columns, rows: 1)
    session.intend(.present(editor))
  }

  /// The default name of the commit: `Merge laptop`.
  func proposedName(_ session: Session) -> String {
    guard let reply else { return "Merge" }
    return "Merge \(sourceName(reply, session))"
  }

  /// The remote whose head is merged, or the commit.
  func sourceName(_ reply: MergePlanReply, _ session: Session) -> String {
    let name = session.outline?.pins.first { $0.commit == reply.theirs.number }?.name ?? "\(reply.theirs.number)"
    return name.hasPrefix("remotes/") ? String(name.dropFirst(8)) : name
  }

  mutating func commit(_ name: String?, in session: inout Session) {
    guard let reply, let theirs else { return }
    guard let name = name ?? (reply.plan.kind == .fastForward ? "" : nil) else {
      return session.intend(.ask(.commitMerge))
    }
    isCommitting = true
    let merge = DecidedMerge(theirs: theirs, decisions: decisions, rows: reply.conflicts)
    let named = name.trimmed.isEmpty ? "Merge" : name.trimmed
    let work = Inquiry { context throws(ModelError) in try merge.commit(named: named, in: context) }
    session.start(.mergeCommit, work, label: "merge")
  }
}

extension Browser {
  /// Opens the merge of a commit that the user names.
  mutating func merge(_ name: String?) {
    guard let name else { return session.warn("merge what? :merge COMMIT, or w in pane 7") }
    session.start(.resolve, ResolveRequest(name: name)) { browser, commit in
      // An exchange may end while something is typed.
      guard browser.overlays.isEmpty else { return browser.session.add("w in pane 7 shows the merge") }
      browser.open(MergePane.self) { pane, _ in pane.show(commit) }
    }
  }
}
