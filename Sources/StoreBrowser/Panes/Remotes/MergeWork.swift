import StrataModel
import StrataDocuments
import StrataExchange

/// Plans a merge of a commit into the head.
struct MergePlanRequest: Question, Hashable {
  var theirs: CommitNumber
  var head: CommitNumber
  var naming: Naming

  /// How many cleanly merged records are described one by one; all are counted.
  private static let cleanLimit = 500

  func reply(in context: WorkContext) throws(ModelError) -> MergePlanReply {
    try context.exchanging { exchange in
      let plan = try exchange.planMerge(of: theirs)
      var reply = MergePlanReply(
        plan: plan, ours: try context.store.commit(plan.changes.first), theirs: try context.store.commit(theirs))
      reply.base = try plan.bases.first.flatMap { try exchange.commit($0) }
      // The plan with the policy `later` says which side changed a field later.
      let later = plan.conflicts.isEmpty ? [] : try exchange.planMerge(of: theirs, policy: .later).conflicts
      let settled = Dictionary(later.map { ($0.place, $0) }, uniquingKeysWith: { first, _ in first })
      for conflict in plan.conflicts {
        try context.goOn()
        reply.conflicts.append(try row(of: conflict, later: settled[conflict.place], in: context))
      }
      try describeClean(of: plan, in: context, &reply)
      return reply
    }
  }

  // MARK: Conflicts

  private func row(
    of conflict: MergeConflict, later: MergeConflict?, in context: WorkContext
  ) throws(ModelError) -> MergeRow {
    let descriptor = try context.datastore(conflict.place.datastore, at: head).descriptor
    func document(_ content: RecordContent?) -> Document? {
      guard let content else { return nil }
      let coding = descriptor.coding(of: content.bytes)
      return coding == .opaque ? nil : try? coding.document(of: content.bytes)
    }
    let (base, ours, theirs) = (document(conflict.base), document(conflict.ours), document(conflict.theirs))
    let after = later.flatMap { $0.isSettled ? document($0.result) : nil }
    var row = MergeRow(conflict: conflict, descriptor: descriptor)
    row.label = (ours ?? theirs ?? base).flatMap { naming.label(of: $0, in: conflict.place.datastore) }
    if let settled = later, settled.isSettled, conflict.fields.isEmpty {
      row.later = settled.result == conflict.ours ? .mine : .theirs
    }
    row.fields = conflict.fields.map { field in
      var shown = MergeField(field)
      if let after { shown.later = after[field.path] == field.mine ? .mine : .theirs }
      return shown
    }
    if let collision = conflict.collision {
      row.fields = Self.fields(ours: document(collision.rivals.first?.content), theirs: document(collision.content))
    }
    guard let ours, let theirs, !conflict.isCollision else { return row }
    if conflict.fields.isEmpty {
      row.fields = Document.difference(ours, theirs).map { MergeField($0.path, base, ours, theirs, .follows) }
      return row
    }
    row.fields += Self.mergedFields(
      base: base ?? .object([]), ours: ours, theirs: theirs, rules: descriptor.mergeRules,
      besides: conflict.fields.map(\.path))
    return row
  }

  /// All fields of two records that would have the same unique value.
  private static func fields(ours: Document?, theirs: Document?) -> [MergeField] {
    var seen: Set<DocumentPath> = []
    return ((theirs?.fields ?? []) + (ours?.fields ?? [])).map(\.path).filter { seen.insert($0).inserted }
      .map { MergeField($0, nil, ours, theirs, .follows) }
  }

  /// The fields of a conflicting record that merge without a conflict.
  private static func mergedFields(
    base: Document, ours: Document, theirs: Document, rules: MergeRules, besides conflicts: [DocumentPath]
  ) -> [MergeField] {
    let merged = DocumentMerge(base: base, mine: ours, theirs: theirs, rules: rules).merged
    var seen = Set(conflicts)
    return (Document.difference(base, ours) + Document.difference(base, theirs)).compactMap { change in
      let path = change.path.upToList
      guard !conflicts.contains(where: { $0.contains(path) || path.contains($0) }), seen.insert(path).inserted else {
        return nil
      }
      return MergeField(path, base, ours, theirs, .merges(merged[path]))
    }
  }

  // MARK: Records that merge without a conflict

  private func describeClean(
    of plan: MergePlan, in context: WorkContext, _ reply: inout MergePlanReply
  ) throws(ModelError) {
    for edit in plan.changes.edits.changes.prefix(Self.cleanLimit) {
      reply.clean.append(try clean(edit, isBoth: true, in: context))
    }
    for (key, identifiers) in plan.changes.adopted.sorted(by: { $0.key < $1.key }) {
      let (here, there) = (try context.datastore(key, at: head), try context.datastore(key, at: theirs))
      let ordered = identifiers.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
      for identifier in ordered where reply.clean.count < Self.cleanLimit {
        try context.goOn()
        let edit = RecordEdit(
          datastore: key, identifier: identifier, old: try here.replaceable(identifier)?.stored,
          new: try there.replaceable(identifier)?.stored)
        reply.clean.append(try clean(edit, isBoth: false, in: context))
      }
    }
    guard !plan.changes.whole.isEmpty else { return }
    let reader = try context.store.changes(from: plan.changes.first, to: theirs)
    while reply.clean.count < Self.cleanLimit, case let changes = try reader.next(256), !changes.isEmpty {
      try context.goOn()
      for change in changes where plan.changes.whole.contains(change.datastore) && reply.clean.count < Self.cleanLimit {
        reply.clean.append(try clean(change.edit, isBoth: false, in: context))
      }
    }
  }

  private func clean(_ edit: RecordEdit, isBoth: Bool, in context: WorkContext) throws(ModelError) -> ReviewRecord {
    let commit = try context.view(head).datastore(edit.datastore) == nil ? theirs : head
    let descriptor = try context.datastore(edit.datastore, at: commit).descriptor
    return ReviewRecord(
      place: edit.place, kind: edit.kind, label: naming.label(of: edit, descriptor) ?? "",
      fields: edit.fields(descriptor), isBoth: isBoth)
  }
}

struct MergePlanReply: Sendable {
  var plan: MergePlan
  var base: CommitDetails?
  var ours: CommitDetails
  var theirs: CommitDetails
  var conflicts: [MergeRow] = []
  /// The records that merge without a conflict, as far as they are described.
  var clean: [ReviewRecord] = []
}

struct MergeRow: Sendable {
  var conflict: MergeConflict
  var descriptor: DatastoreDescriptor
  var label: String?
  /// The conflicting fields first, then those that merge without a conflict; empty if the record is settled as a whole.
  var fields: [MergeField] = []
  /// The side whose change of the whole record was later.
  var later: MergeSide?

  var place: RecordPlace { conflict.place }
  var isWhole: Bool { conflict.fields.isEmpty }

  /// Returns the result of the user's decisions, or nil while one is missing.
  func settlement(_ decisions: [DocumentPath: MergeDecision]) -> MergePlan.Settlement? {
    if let collision = conflict.collision { return Self.settlement(of: collision, descriptor, decisions) }
    if isWhole || decisions[.root] != nil {
      guard case .side(let side)? = decisions[.root] else { return nil }
      return .init(result: side.of(base: conflict.base, mine: conflict.ours, theirs: conflict.theirs))
    }
    guard conflict.fields.allSatisfy({ decisions[$0.path] != nil }) else { return nil }
    let merge = RecordMerge(
      descriptor, base: conflict.base, mine: conflict.ours, theirs: conflict.theirs,
      countsEqualChanges: conflict.countsEqualChanges)
    return merge.withValues { field in decisions[field.path]?.value(of: field) ?? nil }.map { .init(result: $0) }
  }
}

extension MergeRow {
  /// Returns the record with the given values instead of those that another record has too, or nil if none was given.
  private static func settlement(
    of collision: MergeConflict.Collision, _ descriptor: DatastoreDescriptor,
    _ decisions: [DocumentPath: MergeDecision]
  ) -> MergePlan.Settlement? {
    let content = collision.content
    let coding = descriptor.coding(of: content.bytes)
    guard !decisions.isEmpty, var document = try? coding.document(of: content.bytes) else { return nil }
    for case (let path, .value(let value)) in decisions {
      guard let changed = try? document.setting(path, to: value) else { return nil }
      document = changed
    }
    return (try? coding.encode(document, keeping: content.bytes)).map {
      .init(result: RecordContent(version: content.version, bytes: $0))
    }
  }
}

/// A field of a record in conflict, on each side.
struct MergeField: Sendable, Hashable {
  var sides: FieldConflict
  var status = Status.conflict
  /// The side that changed it later.
  var later: MergeSide?

  enum Status: Sendable, Hashable {
    /// Both changed it, to different values.
    case conflict
    /// It merges without a conflict, to this value.
    case merges(Document?)
    /// It is decided with its record, which is settled as a whole.
    case follows
  }

  init(_ conflict: FieldConflict) { sides = conflict }

  /// A field of a record that is settled without its own decision.
  init(_ path: DocumentPath, _ base: Document?, _ ours: Document?, _ theirs: Document?, _ status: Status) {
    sides = FieldConflict(path: path, base: base?[path], mine: ours?[path], theirs: theirs?[path])
    self.status = status
  }

  var path: DocumentPath { sides.path }
  var isConflict: Bool { status == .conflict }
}

/// A user's decision about a field, or about a record as a whole.
enum MergeDecision: Sendable, Hashable {
  case side(MergeSide)
  case value(Document)

  /// Returns the resulting value, or nil if the field is removed.
  func value(of field: FieldConflict) -> Document? {
    switch self {
    case .side(let side): side.of(base: field.base, mine: field.mine, theirs: field.theirs)
    case .value(let value): value
    }
  }
}

/// A merge with the user's decisions.
struct DecidedMerge: Sendable {
  var theirs: CommitNumber
  var decisions: [RecordPlace: [DocumentPath: MergeDecision]]
  /// The conflicts that the user saw, with the contents that the decisions are about.
  var rows: [MergeRow]

  /// Returns the plan on the present head, settled wherever the decisions are about the present contents.
  func plan(by exchange: StoreExchange) throws -> MergePlan {
    let known = Dictionary(rows.map { ($0.place, $0) }, uniquingKeysWith: { first, _ in first })
    var plan = try exchange.planMerge(of: theirs)
    plan.settle { conflict in
      // Decisions about other contents must be made again.
      guard let row = known[conflict.place], row.conflict == conflict else { return nil }
      return row.settlement(decisions[conflict.place] ?? [:])
    }
    return plan
  }

  /// Commits the merge. The plan is made again, because the head may have moved.
  func commit(named name: String, in context: WorkContext) throws(ModelError) -> MergeReply {
    try context.exchanging { exchange in
      for _ in 0..<8 {
        try context.goOn()
        let plan = try plan(by: exchange)
        guard plan.open.isEmpty else { throw ModelError.refused(reason: "the head moved: look at the conflicts again") }
        if let head = try exchange.commit(plan, named: name, options: EditOptions(progress: context.goingOn)) {
          let sentence = Self.sentence(on: plan, committedAs: head)
          return MergeReply(sentence: sentence, move: HeadMove(from: plan.first, to: head))
        }
      }
      throw ModelError.refused(reason: "the head moves too fast to be merged with; try again")
    }
  }

  private static func sentence(on plan: MergePlan, committedAs head: CommitNumber) -> String {
    switch plan.kind {
    case .nothing: "everything was merged already"
    case .fastForward: "the head is \(head) now: nothing of ours was beside it"
    case .twin: "both hold the same: the head is \(head)"
    case .merge: "merged as \(head): \(plan.result()) — u takes it back"
    }
  }
}

struct MergeReply: Sendable {
  var sentence: String
  var move: HeadMove
}

/// Moves the head back before a merge that only this store has.
struct StepBackRequest: Question, Hashable {
  static let slot = WorkSlot(name: "step-back", isKept: true)
  var merge: CommitNumber

  /// Returns the head after it.
  func reply(in context: WorkContext) throws(ModelError) -> CommitNumber {
    _ = try context.exchanging { try $0.stepBack(over: merge) }
    return try context.store.refresh().commit
  }
}
