import Dispatch
import StrataDocuments
import StrataModel
import StoreBrowser

// The verbs that print what happened: history, diff, watch.

extension VerbRun {
  func history() throws {
    let store = try store()
    guard let key = arguments.operand(1) else {
      if arguments.has("--field") { throw UsageError("--field needs a DATASTORE and an ID", verb: arguments.verb) }
      return try printCommits(of: store, keeping: nil)
    }
    guard let text = arguments.operand(2) else {
      if arguments.has("--field") { throw UsageError("--field needs an ID", verb: arguments.verb) }
      return try printCommits(of: store, keeping: key)
    }
    let (datastore, newest, dropped) = try lastState(of: key, in: store)
    let place = RecordPlace(datastore: key, identifier: try datastore.identifier(parsing: text))
    return try printVersions(of: place, from: newest, droppedBy: dropped, in: store)
  }

  /// The newest state of a datastore: that of head, or the last one that the history has, and the commit that dropped it then.
  private func lastState(
    of key: String, in store: any ReadableStore
  ) throws -> (any ReadableDatastore, CommitNumber, dropped: CommitDetails?) {
    var last: CommitDetails?
    if try store.head.datastore(key) == nil {
      try forEachCommit(of: store, changing: key) { commit in
        last = commit
        return false
      }
    }
    if let last, let datastore = try store.view(at: last.number).datastore(key) { return (datastore, last.number, nil) }
    if let parent = try last?.parents.first.flatMap({ try existing($0, in: store) })?.number,
      let datastore = try store.view(at: parent).datastore(key)
    {
      return (datastore, parent, last)
    }
    return (try datastore(key, in: store.head), store.head.commit, nil)
  }

  /// Visits the commits of the store, or those that changed a datastore, newest first, until `visit` returns false.
  private func forEachCommit(
    of store: any ReadableStore, changing datastore: String?, _ visit: (CommitDetails) throws -> Bool
  ) throws {
    var open = [store.head.commit]
    while !open.isEmpty {
      let page = try store.commitPage(from: open, limit: 256, folded: true)
      for commit in page.commits where datastore == nil || commit.changes.contains(where: { $0.datastore == datastore })
      {
        guard try visit(commit) else { return }
      }
      open = page.next
    }
  }

  /// The commits of the store, or of one datastore, newest first.
  private func printCommits(of store: any ReadableStore, keeping datastore: String?) throws {
    var (remaining, isEmpty) = (try arguments.count("--limit") ?? Int.max, true)
    try forEachCommit(of: store, changing: datastore) { commit in
      isEmpty = false
      guard remaining > 0 else { return false }
      remaining -= 1
      try tell(.history(commit), or: row(commit))
      return true
    }
    if isEmpty, let name = datastore { _ = try self.datastore(name, in: store.head) }
  }

  /// The states of a record, or the values of one of its fields, newest first.
  private func printVersions(
    of place: RecordPlace, from newest: CommitNumber, droppedBy dropped: CommitDetails?, in store: any ReadableStore
  ) throws {
    let path = try arguments.value("--field").map { try fieldPath($0) }
    let limit = try arguments.count("--limit") ?? Int.max
    var versions = try VersionLines(of: place, in: store, from: [newest])
    var (isEmpty, printed) = (true, 0)
    // Whoever drops a datastore deletes the records that it has.
    var end =
      versions.upcoming.first?.isDeletion != false ? nil : dropped.map { RecordVersion(commit: $0, record: nil) }
    while printed < limit,
      let (version, older) = try end.take().map({ ($0, versions.upcoming) }) ?? versions.next()
    {
      isEmpty = false
      var (value, problem): (Document?, String?)
      do throws(ModelError) {
        value = try version.record?.document()
        if let path {
          value = value?[path]
          if older.isEmpty ? value == nil : older.contains(where: { $0.has(value, at: path) }) { continue }
        }
      } catch {
        guard error.exitStatus == 3 else { throw error }
        problem = error.description
        notice.give("\(place.datastore) \(place.identifier) as of \(version.commit.number) cannot be read: \(error)")
      }
      printed += 1
      try printValue(value, of: version.commit, problem)
    }
    if isEmpty { throw ModelError.noSuchRecord(place.identifier.description, datastore: place.datastore) }
    if let path, printed == 0, limit > 0 {
      throw ModelError.refused(reason: "no version of \(place.datastore) \(place.identifier) has a field \(path)")
    }
  }

  private func printValue(_ value: Document?, of commit: CommitDetails, _ problem: String?) throws {
    if isJSON {
      guard case .object(var members) = Document.history(commit) else { return }
      members.append(.init("value", value ?? .null))
      members.append(.init("deleted", .bool(value == nil && problem == nil)))
      if let problem { members.append(.init("problem", .string(problem))) }
      try line(.object(members))
    } else {
      try output.line(
        "\(row(commit))\n    \(problem.map { "cannot be read: \($0)" } ?? value?.compactJSON ?? "deleted")")
    }
  }

  /// A commit as a line for people.
  func row(_ commit: CommitDetails) -> String {
    let counts = commit.changes.map { change in
      var text = change.datastore
      if change.updated > 0 { text += " ~\(change.updated)" }
      if change.inserted > 0 { text += " +\(change.inserted)" }
      if change.deleted > 0 { text += " -\(change.deleted)" }
      return text
    }
    let by = commit.author.isEmpty ? commit.program : "\(commit.author) (\(commit.program))"
    return [commit.number.description, Clock.text(commit.date), by, commit.action, counts.joined(separator: ", ")]
      .filter { !$0.isEmpty }.joined(separator: "  ").onOneLine
  }

  func difference() throws {
    let store = try store()
    let changes = try store.changes(from: store.resolve(required(1)), to: store.resolve(required(2)))
    while case let next = try changes.next(256), !next.isEmpty {
      for change in next {
        if let damage = change.damage {
          notice.give("\(change.datastore) \(change.identifier) cannot be compared: \(damage)")
        }
        if isJSON { try line(.change(change)) } else { try printDifference(change) }
      }
    }
  }

  private func printDifference(_ change: RecordChange) throws {
    let sign = change.old == nil ? "+" : change.new == nil ? "-" : "~"
    try output.line("\(sign) \(change.datastore) \(change.identifier)")
    if let damage = change.damage { return try output.line("    cannot be read: \(damage)") }
    for field in try change.fields() {
      try output.line("    \(field.path): \(field.old?.compactJSON ?? "—") → \(field.new?.compactJSON ?? "—")")
    }
  }

  func watch() throws {
    let store = try store()
    let changes = DispatchSemaphore(value: 0)
    let following = try store.follow { changes.signal() }
    defer { withExtendedLifetime(following) {} }
    var last = store.head.commit
    var activity: Activity?
    while true {
      guard let head = try reached({ () throws(ModelError) in try store.refresh().commit }) else {
        // The follower is woken when the server is reachable again.
        changes.wait()
        continue
      }
      if head > last {
        for number in (last.rawValue + 1)...head.rawValue {
          // A compaction may have removed this commit meanwhile. The next commit that it kept includes its changes.
          guard let commit = try existing(CommitNumber(number), in: store) else { continue }
          try tell(.history(commit), or: row(commit))
        }
        last = head
      }
      if store.activity != activity {
        activity = store.activity
        try print(activity, in: store)
      }
      try output.flush()
      changes.wait()
    }
  }

  /// Nil if the server cannot be reached.
  private func reached<Value>(_ ask: () throws(ModelError) -> Value) throws(ModelError) -> Value? {
    do { return try ask() } catch .storage(_, kind: .unreachable) { return nil }
  }

  private func existing(_ number: CommitNumber, in store: any ReadableStore) throws(ModelError) -> CommitDetails? {
    do { return try store.commit(number) } catch .noSuchCommit { return nil }
  }

  private func print(_ activity: Activity?, in store: any ReadableStore) throws {
    let title = activity?.title
    guard isJSON else {
      guard let activity, let title else { return }
      guard let ending = activity.ending else { return try output.line(activity.line) }
      let detail = ending.commit.map { "commit \(CommitNumber($0))" } ?? ending.reason
      try output.line([title, ending.outcome, detail].compactMap(\.self).joined(separator: ": "))
      for failure in ending.failures {
        try output.line("    \(failure.datastore) \(identifier(of: failure, in: store)): \(failure.reason)")
      }
      return
    }
    var members: [Document.Member] = [.init("activity", title.map(Document.string) ?? .null)]
    members += activity?.members ?? [.init("done", .count(0)), .init("total", .count(0))]
    if let ending = activity?.ending {
      members.append(.init("outcome", .string(ending.outcome)))
      members.append(.init("commit", ending.commit.map { .commit(CommitNumber($0)) } ?? .null))
      members.append(.init("reason", ending.reason.map(Document.string) ?? .null))
      let failures = try ending.failures.map { failure -> Document in
        [
          "datastore": .string(failure.datastore), "id": .string(try identifier(of: failure, in: store)),
          "reason": .string(failure.reason),
        ]
      }
      members.append(.init("failures", .array(failures)))
    }
    try line(.object(members))
  }

  private func identifier(of failure: Activity.Failure, in store: any ReadableStore) throws -> String {
    let descriptor = try store.head.datastore(failure.datastore)?.descriptor
    return descriptor?.storedKey(failure.identifier).description ?? Base64.text(of: failure.identifier)
  }
}

extension Activity {
  /// How far the work is, in a line: `rebuild index name of City: 42 %, decode 84300 of 200000, 44100/s, 40–55 s left`.
  var line: String {
    let step = currentStep
    let named = step.map { $0.title == title ? "" : "\($0.title) " } ?? ""
    var parts = ["\(named)\(step?.done ?? done) of \(step?.total ?? total)"]
    if let share { parts.insert("\(Int(share * 100 + 1e-9)) %", at: 0) }
    if let rate = step?.rate { parts.append("\(Int(rate))/s") }
    if let secondsLeft {
      let ends = [secondsLeft.lowerBound, secondsLeft.upperBound].map { Int($0.rounded(.up)) }
      parts.append("\(ends[0] == ends[1] ? "\(ends[0])" : "\(ends[0])–\(ends[1])") s left")
    }
    return "\(title): \(parts.joined(separator: ", "))"
  }

  /// The same for programs: what an older writer does not say is missing.
  var members: [Document.Member] {
    var members: [Document.Member] = [.init("done", .count(done)), .init("total", .count(total))]
    func number(_ value: Double) -> Document { .number(NumberText(value)) }
    if let step = currentStep { members.append(.init("step", .string(step.title))) }
    if let share { members.append(.init("share", number(share))) }
    if let rate = currentStep?.rate { members.append(.init("rate", .count(Int(rate)))) }
    if let secondsLeft {
      members.append(.init("secondsLeft", .array([number(secondsLeft.lowerBound), number(secondsLeft.upperBound)])))
    }
    return members
  }
}

extension Activity.Ending {
  /// How the work ended, in a word.
  fileprivate var outcome: String { commit != nil ? "complete" : reason != nil ? "failed" : "cancelled" }
}
