import Dispatch
import StrataDocuments
import StrataExpressions
import StrataLocks
import StrataEngine

/// The outcome of a letter.
package enum LetterOutcome: Hashable, Sendable {
  /// It is the commit.
  case applied(LetterName, CommitNumber)
  /// It lies in the inbox's folder `refused`, and the store does not have its changes.
  case refused(LetterName, reason: String)

  /// Whether the store still has it after commits may have been taken back.
  fileprivate func holds(in numbers: LetterNumbers) -> Bool {
    if case .applied(let letter, _) = self { (try? numbers.isDone(letter)) == true } else { true }
  }
}

/// The open stores whose letters are being applied.
private let applying = Mutex<Set<ObjectIdentifier>>([])

extension EngineStore {
  /// The folder of the store's inbox. Returns nil for a store in memory or on a server.
  package var inbox: InboxFolder? { engine.isServed || isInMemory ? nil : InboxFolder(ofStoreAt: path, disk: disk) }

  /// Applies the letters that wait: each exactly once, as one commit, those of one sender in the order of their numbers.
  ///
  /// The number of a letter is noted by its own commit, and its file is removed once that is durable. So a kill at any moment neither
  /// loses a letter nor applies it twice. A letter that cannot be applied is moved to the folder `refused`, with its reason. A letter
  /// waits while one before it is missing, and while `isDue` returns false. The sender's later letters wait for it if they change one of
  /// its datastores.
  ///
  /// The commits share syncs.
  ///
  /// - Parameters:
  ///   - isDue: whether a letter is applied now.
  ///   - note: receives the outcomes in order, some at a time; also those of the letters before an error.
  /// - Returns: the outcome of each, in order.
  /// - Throws: `ModelError.locked` if another process writes, `.readOnly`, `.storage`, `.refused` within another run of this process;
  ///   then the rest waits.
  package func applyLetters(
    isDue: (LetterName, Letter) throws(ModelError) -> Bool = { _, _ in true },
    note: ([LetterOutcome]) -> Void = { _ in }
  ) throws(ModelError) -> [LetterOutcome] {
    guard let inbox else { return [] }
    if case .readOnly(let reason) = access { throw .readOnly(reason: reason) }
    // A second run could remove a letter whose commit is not durable yet. It does not wait for the first: its caller may have the turn,
    // and the first waits for that.
    let store = ObjectIdentifier(engine)
    guard applying.withLock({ $0.insert(store).inserted }) else {
      throw .refused(reason: "the letters are being applied by this process already")
    }
    defer { applying.withLock { _ = $0.remove(store) } }
    var waiting = try inbox.waiting()
    if waiting.isEmpty { return [] }
    defer { if !keepsLock { engine.releaseLock() } }
    _ = try refresh()
    var outcomes: [LetterOutcome] = []
    var senders: [UInt64: Sender] = [:]
    // To remove a file takes as long as a commit, so another thread does it meanwhile.
    let removal = DispatchQueue(label: "strata.letters")
    let failure = Mutex<ModelError?>(nil)
    defer { removal.sync {} }
    while !waiting.isEmpty {
      let batch = try due(waiting.prefix(Self.lettersPerSync), in: inbox, &senders, isDue)
      waiting.removeFirst(min(Self.lettersPerSync, waiting.count))
      var done: [LetterOutcome] = []
      do throws(ModelError) {
        for letter in batch { done += try apply(letter, from: inbox) }
        // All at once: the last letter need not have made a commit.
        if let file = engine as? FileStore { try onStorage { try file.writing.settle() } }
      } catch {
        // Makes the commits so far durable, or takes them back: the next run removes the letters whose numbers it sees.
        engine.releaseLock()
        let numbers = LetterNumbers(try? view(engine.head).tree(.letters))
        note(done.filter { $0.holds(in: numbers) })
        throw error
      }
      note(done)
      outcomes += done
      removal.async {
        do throws(ModelError) {
          for letter in batch { try inbox.remove(letter.name) }
        } catch {
          failure.withLock { $0 = error }
        }
      }
    }
    removal.sync {}
    if let failure = failure.withLock({ $0 }) { throw failure }
    // All letters are applied; the next run tries again.
    try? inbox.removeOldDrafts(now: LocalTime.now)
    return outcomes
  }

  /// Deletes a letter that waits or was refused. Its number counts as done; if a letter of its sender before it still waits, the letter
  /// is refused instead, and can be deleted after that one.
  package func dropLetter(_ name: LetterName) throws(ModelError) {
    guard let inbox else { return }
    if try inbox.waiting().contains(name) { try inbox.refuse(name, "dropped") }
    guard try inbox.hasRefused(name) else { throw .refused(reason: "the letter \(name) is not in the inbox") }
    if try recordRefusal(name, in: inbox) { try inbox.drop(name) }
  }

  /// Lets a letter that was refused wait again, as a letter of `sender`. Returns its new name.
  @discardableResult
  package func sendAgain(_ name: LetterName, by sender: LetterSender) throws(ModelError) -> LetterName {
    // The number of a letter that waits must not count as done: the letter would be removed.
    guard let inbox, try inbox.hasRefused(name) else { throw .refused(reason: "the letter \(name) was not refused") }
    // Its first number must be done, or the sender's next letters would wait for it.
    guard try recordRefusal(name, in: inbox) else {
      throw .refused(reason: "a letter of its sender that was sent before it still waits")
    }
    return try sender.sendAgain(name)
  }

  private static let lettersPerSync = 128

  /// A letter that is next, with its contents or why it has none.
  private struct DueLetter {
    var name: LetterName
    var contents: Result<Letter, ModelError>
    /// Whether a letter of its sender before it waits.
    var isAhead: Bool
  }

  /// The facts about a sender's letters while they are looked at in their order.
  private struct Sender {
    /// The last letter that was done, or looked at.
    var last: UInt32
    /// The datastores of its letters that are not due, which no later letter may change before them; nil if all are due.
    var held: Set<String>?
    /// Whether a letter is missing, or cannot be read now.
    var isBlocked = false
  }

  /// The letters whose predecessors are done, among them, or of other datastores. Those that are done already are removed.
  private func due(
    _ names: ArraySlice<LetterName>, in inbox: InboxFolder, _ senders: inout [UInt64: Sender],
    _ isDue: (LetterName, Letter) throws(ModelError) -> Bool
  ) throws(ModelError) -> [DueLetter] {
    let numbers = LetterNumbers(try view(engine.head).tree(.letters))
    var due: [DueLetter] = []
    for name in names {
      let known = senders[name.sender]
      var sender = if let known { known } else { Sender(last: try numbers.last(of: name.sender)) }
      defer { senders[name.sender] = sender }
      if try numbers.isDone(name) { try inbox.remove(name) }
      guard name.number > sender.last, !sender.isBlocked else { continue }
      guard try areDone(after: sender.last, before: name, numbers, in: inbox),
        let contents = try contents(of: name, in: inbox)
      else {
        sender.isBlocked = true
        continue
      }
      sender.last = name.number
      if case .success(let letter) = contents {
        let datastores = Set(letter.changes.map(\.datastore))
        guard sender.held?.isDisjoint(with: datastores) ?? true, try isDue(name, letter) else {
          sender.held = datastores.union(sender.held ?? [])
          continue
        }
      }
      due.append(DueLetter(name: name, contents: contents, isAhead: sender.held != nil))
    }
    return due
  }

  /// A letter, or the reason to refuse it. Returns nil if its file cannot be read now.
  private func contents(of name: LetterName, in inbox: InboxFolder) throws(ModelError) -> Result<Letter, ModelError>? {
    do throws(ModelError) {
      return .success(try inbox.letter(name))
    } catch .storage {
      return nil
    } catch {
      return .failure(error)
    }
  }

  /// Whether all letters of a sender between a number and a letter are done, or were refused: a kill may have come between that and the
  /// note of the number.
  private func areDone(
    after done: UInt32, before name: LetterName, _ numbers: LetterNumbers, in inbox: InboxFolder
  ) throws(ModelError) -> Bool {
    let gap = name.number - done - 1
    if gap == 0 { return true }
    let ahead = try numbers.countAhead(of: name.sender, after: done, before: name.number)
    return try ahead + UInt64(inbox.refusedCount(of: name.sender, after: done, before: name.number)) == UInt64(gap)
  }

  private func apply(_ due: DueLetter, from inbox: InboxFolder) throws(ModelError) -> [LetterOutcome] {
    do throws(ModelError) {
      let letter = try due.contents.get()
      if let store = letter.store, store != identity {
        throw ModelError.refused(reason: "it is for the store \(store)")
      }
      let base = try letter.base.map { identity throws(ModelError) in try view(of: identity) }
      // A sender whose clock is ahead must not move the dates of all later commits.
      let date = min(letter.date, LocalTime.now)
      var info = CommitInfo(date: date, action: letter.action, program: letter.program, author: letter.author)
      info.durability = .collated
      let commit = try transactOnce(info) { transaction in
        guard try LetterNumbers.record(due.name, isAhead: due.isAhead, in: transaction) else { return false }
        try apply(letter, base, to: transaction)
        return true
      }
      // Without a commit, another process has applied it meanwhile.
      return commit.map { [.applied(due.name, $0)] } ?? []
    } catch {
      switch error {
      case .locked, .readOnly, .storage, .cancelled: throw error
      default: break
      }
      try inbox.refuse(due.name, error.description)
      _ = try recordRefusal(due.name, in: inbox)
      return [.refused(due.name, reason: error.description)]
    }
  }

  /// Notes the number of a letter that was refused, unless one before it still waits. Returns whether the letter is done.
  private func recordRefusal(_ name: LetterName, in inbox: InboxFolder) throws(ModelError) -> Bool {
    var isDone = true
    _ = try transact(CommitInfo(action: "refuse a letter", flags: .maintenance)) { transaction in
      let numbers = try LetterNumbers(in: transaction)
      if try numbers.isDone(name) { return }
      isDone = try areDone(after: numbers.last(of: name.sender), before: name, numbers, in: inbox)
      if isDone { try LetterNumbers.record(name, in: transaction) }
    }
    return isDone
  }

  private func apply(_ letter: Letter, _ base: EngineView?, to transaction: any WriteTransaction) throws(ModelError) {
    try createDatastores(for: letter, in: transaction)
    let edits = try edits(of: letter, base) { key throws(ModelError) in try datastore(key, in: transaction) }
    let step = Activity.Step(title: letter.action, done: 0, total: edits.count, isComplete: false)
    try whileBusy(letter.action, [step], progress: nil) { meter in
      let options = EditOptions(mergesFields: true)
      try EditApplication(store: self, transaction: transaction, options: options).apply(edits, meter)
    }
  }

  /// The changes that a letter would make now.
  ///
  /// - Throws: `ModelError.noSuchDatastore`, `.noSuchRecord`, `.refused` if it cannot be applied.
  package func edits(of letter: Letter) throws(ModelError) -> ChangeSet {
    let head = try engineView(at: CommitNumber(engine.head.number))
    let base = try letter.base.map { identity throws(ModelError) in try view(of: identity) }
    var edits = try edits(of: letter, base) { key throws(ModelError) in try head.requiredDatastore(key) }
    edits.base = (base ?? head).commit
    return edits
  }

  /// A letter's changes as edits of the records that its sender has read at `base`, or of the present ones.
  private func edits(
    of letter: Letter, _ base: EngineView?, _ present: (String) throws(ModelError) -> EngineDatastore
  ) throws(ModelError) -> ChangeSet {
    var edits = ChangeSet()
    var places: [RecordPlace: Int] = [:]
    for change in letter.changes {
      let datastore = try present(change.datastore)
      let key = try datastore.key(of: change.identifier.document)
      let place = RecordPlace(datastore: change.datastore, identifier: key)
      let position = places[place] ?? edits.count
      if case .put(_, isNew: true) = change.kind {
        let isThere =
          position < edits.count ? edits.changes[position].new != nil : try datastore.reference(of: key) != nil
        if isThere { throw .refused(reason: "\(change.datastore) \(key) is there already") }
      }
      if position == edits.count {
        // Without the datastore the base has no record.
        let read = if let base { try base.ownDatastore(change.datastore) } else { datastore as EngineDatastore? }
        let old = try read?.replaceable(key)?.stored
        var edit = RecordEdit(datastore: change.datastore, identifier: key, old: old, new: old)
        edit.countsEqualChanges = true
        edits.changes.append(edit)
        places[place] = position
      }
      edits.changes[position].new = try datastore.content(of: key, edits.changes[position].new, after: change.kind)
    }
    return edits
  }

  /// Makes the datastores that the store does not have yet and whose types are compiled in.
  private func createDatastores(for letter: Letter, in transaction: any WriteTransaction) throws(ModelError) {
    for change in letter.changes {
      guard case .put(let content, _) = change.kind, let format = formats[change.datastore] else { continue }
      let tree = try onStorage { try transaction.tree(.records(of: change.datastore)) }
      if tree == nil { try format.createTrees(for: content, in: transaction) }
    }
  }

  /// The state of a commit, of whatever number it has here.
  private func view(of identity: CommitIdentity) throws(ModelError) -> EngineView {
    var number = try? engine.commit(identity.number).identity == identity ? identity.number : nil
    if number == nil {
      try onStorage {
        try engine.forEachDescent { descent in
          if descent.identity == identity { number = descent.number }
          return number == nil
        }
      }
    }
    guard let number else {
      throw .refused(reason: "the commit that it was made on, \(identity.text), is not in the store's history")
    }
    return try engineView(at: CommitNumber(number))
  }
}

extension EngineDatastore {
  fileprivate func key(of identifier: Document) throws(ModelError) -> StoredKey {
    guard let value = descriptor.identifierEncoding.keyValue(from: identifier) else {
      throw .refused(reason: "\(identifier.compactJSON) is not an identifier of \(descriptor.key)")
    }
    return descriptor.storedKey(try descriptor.identifierEncoding.encode(value))
  }

  /// The content of a record after a letter's change of it.
  fileprivate func content(
    of key: StoredKey, _ present: RecordContent?, after change: Letter.Change.Kind
  ) throws(ModelError) -> RecordContent? {
    switch change {
    case .delete: return nil
    case .put(let content, _): return content
    case .patch(let members):
      guard let present else { throw .noSuchRecord(key.description, datastore: descriptor.key) }
      let coding = descriptor.coding(of: present.bytes)
      guard present != .damaged, case .object(let new)? = try? JSONParser.parse(members),
        case .object(let old) = try onDocument(coding.document(of: present.bytes))
      else { throw .refused(reason: "\(descriptor.key) \(key) is not an object whose members could be replaced") }
      let document = Document.object(old + new).keepingLastMembers
      return RecordContent(
        version: present.version, bytes: try onDocument(coding.encode(document, keeping: present.bytes)))
    }
  }
}
