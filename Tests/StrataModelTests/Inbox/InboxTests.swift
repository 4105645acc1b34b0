import DiskSimulation
import StrataDocuments
import StrataEngine
import Testing

@testable import StrataModel

@Suite("Letters of other programs")
struct InboxTests {
  private static let path = "/app/notes.strata"
  private static let descriptor = DatastoreDescriptor(
    key: "Note", instanceType: "Note", identifierType: "Int", identifierEncoding: .integer, identifierPath: ".id",
    indexes: [])

  /// A store with an empty datastore `Note`.
  private func store(on disk: any Disk = SimulatedDisk()) throws -> EngineStore {
    let store = try EngineStore.open(path: Self.path, creates: true, disk: disk)
    _ = try store.transact(CommitInfo(action: "register")) { transaction throws(ModelError) in
      try DatastoreWriter.create(Self.descriptor, in: transaction)
    }
    return store
  }

  private func sender(on disk: any Disk, mostLetters: Int = 10_000) -> LetterSender {
    LetterSender(InboxFolder(ofStoreAt: Self.path, disk: disk), mostLetters: mostLetters)
  }

  private func put(_ id: Int, _ text: String, isNew: Bool = false) -> Letter.Change {
    let document: Document = ["id": .number(NumberText(id)), "text": .string(text)]
    let content = RecordContent(version: "1", bytes: document.json(.compact))
    return Letter.Change(datastore: "Note", identifier: .number(NumberText(id)), kind: .put(content, isNew: isNew))
  }

  private func patch(_ id: Int, _ members: Document) -> Letter.Change {
    Letter.Change(datastore: "Note", identifier: .number(NumberText(id)), kind: .patch(members.json(.compact)))
  }

  private func letter(
    _ action: String, at date: Int64, base: CommitIdentity? = nil, _ changes: Letter.Change...
  ) -> Letter {
    Letter(date: date, program: "Share", author: "anna", action: action, base: base, changes: changes)
  }

  private func text(_ id: Int, in store: EngineStore) throws -> String? {
    let key = Self.descriptor.storedKey(try KeyEncoding.integer.encode(.integer(Int64(id))))
    let datastore = try #require(try store.head.datastore("Note"))
    guard case .string(let text)? = try datastore.record(key)?.document()[member: "text"] else { return nil }
    return text
  }

  /// The actions of all commits that letters made, the oldest first.
  private func actions(of store: EngineStore) throws -> [String] {
    var actions: [String] = []
    try store.engine.forEachDescent { descent throws(StorageError) in
      let commit = try store.engine.commit(descent.number)
      if commit.program == "Share" { actions.append(commit.action) }
      return true
    }
    return actions.reversed()
  }

  @Test("a letter is read as it was written, whatever is in it")
  func text() throws {
    let base = CommitIdentity(origin: 77, number: 5)
    let odd = RecordContent(version: "2\"\n", bytes: [0x62, 0x70, 0, 0xFF])
    let letter = Letter(
      store: "6f1c", date: 1_764_000_000_123_456_789, program: "a\nb", author: "ü", action: "\u{1}", base: base,
      changes: [
        put(1, "one\ntwo", isNew: true), patch(2, ["n": 1.5]),
        Letter.Change(datastore: "A\"B", identifier: ["k": [1, "x"]], kind: .put(odd, isNew: false)),
        Letter.Change(datastore: "Note", identifier: "x", kind: .delete),
      ])
    #expect(try Letter(bytes: letter.bytes) == letter)
  }

  @Test("in a letter of another tool false is false, and of two members of one name the last counts")
  func foreignText() throws {
    let text = String(decoding: letter("first", at: 1, put(1, "a", isNew: true)).bytes, as: UTF8.self)
    let lines = text.split(separator: "\n").dropLast().map { "\($0)\n" }
    let body = lines.joined().replacing("\"new\":true", with: "\"new\":true,\"new\":false")
    let check = Hexadecimal.text(of: UInt64(crc32c(0, Array(body.utf8)))).suffix(8)
    let read = try Letter(bytes: Array("\(body){\"end\":1,\"check\":\"\(check)\"}\n".utf8))
    #expect(read.changes == [put(1, "a")])
  }

  @Test("no changed byte of a letter is taken for what was sent")
  func damage() throws {
    let sent = letter("first", at: 1, put(1, "a"), patch(2, ["n": 3]))
    let bytes = sent.bytes
    for position in bytes.indices {
      var damaged = bytes
      damaged[position] ^= 1 << (position % 8)
      #expect(throws: ModelError.self, "byte \(position)") { try Letter(bytes: damaged) }
      #expect(throws: ModelError.self, "cut at \(position)") { try Letter(bytes: Array(bytes[..<position])) }
    }
  }

  @Test("a letter without a first line is refused, whatever its end counts", arguments: [Int64(-1), 0, 1, .min, .max])
  func withoutHead(count: Int64) {
    let bytes = Array("{\"end\":\(count),\"check\":\"00000000\"}\n".utf8)
    #expect(throws: ModelError.self) { try Letter(bytes: bytes) }
  }

  @Test("letters become commits of their own, by date, and those of one sender by their numbers")
  func order() throws {
    let disk = SimulatedDisk()
    let (first, second) = (sender(on: disk), sender(on: disk))
    // Before the store exists. The clock of the first sender goes back meanwhile.
    try first.send(letter("a", at: 50, put(1, "a")))
    try second.send(letter("b", at: 40, put(1, "b")))
    let store = try store(on: disk)
    try first.send(letter("c", at: 10, put(1, "c"), put(2, "c")))
    try second.send(letter("d", at: 60, put(2, "d")))
    let outcomes = try store.applyLetters()
    #expect(try actions(of: store) == ["b", "a", "c", "d"])
    #expect(try text(1, in: store) == "c")
    #expect(try text(2, in: store) == "d")
    #expect(outcomes.count == 4)
    #expect(try store.inbox?.waiting().isEmpty == true)
    #expect(try store.applyLetters().isEmpty)
    let newest = try store.engine.commit(store.engine.head.commit.number)
    #expect(newest.author == "anna")
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("a letter that cannot be applied is kept with its reason, and the next one of its sender is not held up")
  func refusal() throws {
    let disk = SimulatedDisk()
    let store = try store(on: disk)
    let sender = sender(on: disk)
    try sender.send(letter("new", at: 1, put(1, "a", isNew: true)))
    try sender.send(letter("again", at: 2, put(2, "b"), put(1, "b", isNew: true)))
    try sender.send(letter("no record", at: 3, patch(9, ["text": "x"])))
    try sender.send(letter("no identifier", at: 4, Letter.Change(datastore: "Note", identifier: "x", kind: .delete)))
    var foreign = letter("foreign", at: 5, put(3, "c"))
    foreign.store = "00112233445566778899aabbccddeeff"
    try sender.send(foreign)
    try sender.send(letter("last", at: 6, put(4, "d")))
    let reasons = try store.applyLetters().compactMap { outcome -> String? in
      if case .refused(_, let reason) = outcome { reason } else { nil }
    }
    #expect(try actions(of: store) == ["new", "last"])
    #expect(try text(2, in: store) == nil)
    let inbox = try #require(store.inbox)
    let refused = try inbox.refused()
    #expect(refused.map(\.reason) == reasons)
    #expect(reasons.count == 4)
    #expect(reasons.first == "Note 1 is there already")
    // The record that was in the way goes; then the letter is sent again.
    let again = try #require(refused.first).name
    try sender.send(letter("delete", at: 7, Letter.Change(datastore: "Note", identifier: 1, kind: .delete)))
    _ = try store.applyLetters()
    try store.sendAgain(again, by: self.sender(on: disk))
    _ = try store.applyLetters()
    #expect(try text(1, in: store) == "b")
    #expect(try actions(of: store) == ["new", "last", "delete", "again"])
    try store.dropLetter(refused[1].name)
    #expect(try inbox.refused().map(\.name) == refused.dropFirst(2).map(\.name))
  }

  @Test("a letter waits for the one before it, until that is dropped")
  func gap() throws {
    let disk = SimulatedDisk()
    let store = try store(on: disk)
    let sender = sender(on: disk)
    let first = try sender.send(letter("first", at: 1, put(1, "a")))
    try sender.send(letter("second", at: 2, put(1, "b")))
    let inbox = try #require(store.inbox)
    let (place, elsewhere) = ("\(inbox.waitingPath)/\(first)", "\(inbox.path)/lost")
    try disk.rename(place, to: elsewhere)
    #expect(try store.applyLetters().isEmpty)
    try disk.rename(elsewhere, to: place)
    try store.dropLetter(first)
    #expect(try store.applyLetters().count == 1)
    #expect(try actions(of: store) == ["second"])
  }

  @Test("a letter with a base is merged by field, and refused if both changed a field")
  func base() throws {
    let disk = SimulatedDisk()
    let store = try store(on: disk)
    let sender = sender(on: disk)
    try sender.send(letter("base", at: 1, put(1, "a")))
    _ = try store.applyLetters()
    let base = store.engine.head.commit.identity
    try sender.send(letter("mine", at: 2, patch(1, ["stars": 5])))
    _ = try store.applyLetters()
    try sender.send(letter("other field", at: 3, base: base, patch(1, ["text": "b"])))
    try sender.send(letter("same field", at: 4, base: base, patch(1, ["stars": 1])))
    let outcomes = try store.applyLetters()
    guard case .applied? = outcomes.first, case .refused? = outcomes.last else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(try text(1, in: store) == "b")
    let unknown = CommitIdentity(origin: 1, number: 1)
    try sender.send(letter("unknown base", at: 5, base: unknown, patch(1, ["text": "c"])))
    guard case .refused(_, let reason)? = try store.applyLetters().first else {
      Issue.record("a letter with an unknown base was applied")
      return
    }
    #expect(reason.contains(unknown.text))
  }

  @Test("two letters that count on from one base both count, also to the same number")
  func counters() throws {
    let disk = SimulatedDisk()
    let store = try store(on: disk)
    _ = try store.transact(CommitInfo(action: "rule")) { transaction throws(ModelError) in
      var descriptor = Self.descriptor
      descriptor.setMergeRules([".stars": "counter"])
      try DatastoreWriter.store(descriptor, in: transaction)
    }
    let sender = sender(on: disk)
    try sender.send(letter("base", at: 1, put(1, "a"), patch(1, ["stars": 10])))
    _ = try store.applyLetters()
    let base = store.engine.head.commit.identity
    let counting = letter("count", at: 2, base: base, patch(1, ["stars": 11]))
    try sender.send(counting)
    #expect(try store.applyLetters().count == 1)
    let shown = try store.rebase(store.edits(of: counting), onto: store.head.commit, progress: nil)
    #expect(shown.alreadyMade.isEmpty && shown.merged.count == 1, "a review shows what the letter will do")
    try sender.send(counting)
    #expect(try store.applyLetters().count == 1)
    let key = Self.descriptor.storedKey(try KeyEncoding.integer.encode(.integer(1)))
    #expect(try store.head.datastore("Note")?.record(key)?.document()[member: "stars"] == 12)
  }

  @Test("undo and restore do not make a letter wait or apply again")
  func undo() throws {
    let disk = SimulatedDisk()
    let store = try store(on: disk)
    let sender = sender(on: disk)
    let before = store.head.commit
    let sent = try sender.send(letter("first", at: 1, put(1, "a")))
    let first = try sender.folder.letter(sent)
    _ = try store.applyLetters()
    let applied = store.head.commit
    _ = try store.undo(applied, named: "undo")
    #expect(try text(1, in: store) == nil)
    try sender.send(letter("second", at: 2, put(2, "b")))
    #expect(try store.applyLetters().count == 1)
    _ = try store.restore(before, datastore: nil, named: "restore")
    // A copy of the first letter comes back, as from a backup of the folder.
    try disk.writeDurably(first.bytes, to: "\(sender.folder.waitingPath)/\(sent)")
    #expect(try store.applyLetters().isEmpty)
    #expect(try text(1, in: store) == nil)
    #expect(try sender.folder.waiting().isEmpty)
  }

  @Test("a letter that is dropped or sent again before its turn takes none of those before it along")
  func outOfTurn() throws {
    let disk = SimulatedDisk()
    let store = try store(on: disk)
    let sender = sender(on: disk)
    let names = try (1...3).map { try sender.send(letter("\($0)", at: Int64($0), put($0, "x"))) }
    try store.dropLetter(names[1])
    #expect(throws: ModelError.self) { try store.sendAgain(names[1], by: self.sender(on: disk)) }
    _ = try store.applyLetters()
    #expect(try actions(of: store) == ["1", "3"])
    try store.dropLetter(names[1])
    #expect(try store.inbox?.refused().isEmpty == true)
  }

  @Test("a letter that waits is not sent again, one that is not there is not deleted, and neither counts as done")
  func notRefused() throws {
    let disk = SimulatedDisk()
    let store = try store(on: disk)
    let sender = sender(on: disk)
    let (waiting, late) = (try sender.send(letter("1", at: 1, put(1, "x"))), LetterName(date: 2, sender: 7, number: 1))
    #expect(throws: ModelError.self) { try store.sendAgain(waiting, by: self.sender(on: disk)) }
    #expect(throws: ModelError.self) { try store.dropLetter(late) }
    try disk.writeDurably(letter("late", at: 2, put(2, "x")).bytes, to: "\(sender.folder.waitingPath)/\(late)")
    #expect(try store.applyLetters().count == 2)
    #expect(try actions(of: store) == ["1", "late"])
  }

  @Test("letters that were listed before are not read again")
  func listedOnce() throws {
    let disk = SimulatedDisk()
    let store = try store(on: disk)
    let sender = sender(on: disk)
    for number in 1...3 { try sender.send(letter("\(number)", at: Int64(number), patch(number, ["text": "x"]))) }
    #expect(try store.applyLetters().count == 3)
    try sender.send(letter("4", at: 4, put(4, "x")))
    let letters = try store.letters(limit: 3)
    #expect(letters.map(\.action) == ["4", "1", "2"] && letters.map(\.reason).last == "no record 2 in Note")
    let opened = disk.counts[.open]
    #expect(try store.letters(limit: 3) == letters)
    #expect(disk.counts[.open] == opened)
  }

  @Test("the outcomes of the letters before an error are reported")
  func outcomesBeforeError() throws {
    let disk = SimulatedDisk()
    let store = try store(on: disk)
    let sender = sender(on: disk)
    for number in 1...130 { try sender.send(letter("\(number)", at: Int64(number), put(number, "x"))) }
    try sender.send(letter("no record", at: 131, patch(999, ["text": "x"])))
    // A file in the place of the folder of refused letters.
    try disk.writeDurably([1], to: "\(sender.folder.path)/refused")
    var noted: [LetterOutcome] = []
    #expect(throws: ModelError.self) { try store.applyLetters(note: { noted += $0 }) }
    #expect(noted.count == 130)
    #expect(try actions(of: store).count == 130)
    noted = []
    #expect(throws: ModelError.self) { try store.applyLetters(note: { noted += $0 }) }
    #expect(noted.isEmpty)
  }

  @Test("a letter that cannot be read holds up its own sender alone")
  func unreadable() throws {
    let disk = SimulatedDisk()
    let store = try store(on: disk)
    let (first, second) = (sender(on: disk), sender(on: disk))
    let name = try first.send(letter("unreadable", at: 1, put(1, "a")))
    try first.send(letter("behind it", at: 2, put(1, "b")))
    try second.send(letter("other", at: 3, put(2, "c")))
    // A folder in its place cannot be read as a file.
    let path = "\(first.folder.waitingPath)/\(name)"
    try disk.unlink(path)
    try disk.makeDirectory(path)
    _ = try store.applyLetters()
    #expect(try actions(of: store) == ["other"])
  }

  @Test("a text that no commit can have is refused when it is sent, and does not hold up others when it arrives")
  func longTexts() throws {
    let disk = SimulatedDisk()
    let store = try store(on: disk)
    let sender = sender(on: disk)
    var long = letter("long", at: 1, put(1, "a"))
    long.program = String(repeating: "p", count: Limits.text + 1)
    #expect(throws: ModelError.self) { try sender.send(long) }
    let forged = LetterName(date: 1, sender: 7, number: 1)
    try sender.folder.makeFolders()
    try sender.folder.disk.writeDurably(long.bytes, to: "\(sender.folder.waitingPath)/\(forged)")
    try sender.send(letter("short", at: 2, put(1, "b")))
    #expect(try store.applyLetters().count == 2)
    #expect(try actions(of: store) == ["short"])
    #expect(try store.inbox?.refused().map(\.name) == [forged])
  }

  @Test("of members of one name in a patch the last counts, and stands where the member stood")
  func patches() throws {
    let disk = SimulatedDisk()
    let store = try store(on: disk)
    let sender = sender(on: disk)
    try sender.send(letter("put", at: 1, put(1, "a")))
    let twice = Array(#"{"text":"b","stars":1,"text":"c"}"#.utf8)
    let change = Letter.Change(datastore: "Note", identifier: 1, kind: .patch(twice))
    try sender.send(letter("patch", at: 2, change))
    _ = try store.applyLetters()
    let datastore = try #require(try store.head.datastore("Note"))
    let key = Self.descriptor.storedKey(try KeyEncoding.integer.encode(.integer(1)))
    let content = try #require(try datastore.record(key)).content
    #expect(String(decoding: content, as: UTF8.self) == #"{"id":1,"text":"c","stars":1}"#)
  }

  @Test("a base without the datastore is a base without the record")
  func earlyBase() throws {
    let disk = SimulatedDisk()
    let store = try EngineStore.open(path: Self.path, creates: true, disk: disk)
    _ = try store.transact(CommitInfo(action: "other")) { transaction throws(ModelError) in
      var other = Self.descriptor
      other.key = "Other"
      try DatastoreWriter.create(other, in: transaction)
    }
    let base = store.engine.head.commit.identity
    _ = try store.transact(CommitInfo(action: "register")) { transaction throws(ModelError) in
      try DatastoreWriter.create(Self.descriptor, in: transaction)
    }
    let sender = sender(on: disk)
    try sender.send(letter("theirs", at: 1, put(1, "theirs")))
    try sender.send(letter("mine", at: 2, base: base, put(1, "mine")))
    guard case .refused? = try store.applyLetters().last else {
      Issue.record("what came meanwhile was overwritten")
      return
    }
    #expect(try text(1, in: store) == "theirs")
  }

  @Test("drafts of senders that were killed are removed after an hour, and no younger ones")
  func leftovers() throws {
    let place = try TemporaryFolder()
    let folder = InboxFolder(ofStoreAt: place.path + "/notes.strata")
    try folder.makeFolders()
    let draft = "\(folder.draftsPath)/left"
    try folder.disk.writeDurably([1], to: draft)
    try folder.removeOldDrafts(now: folder.disk.now())
    #expect(try folder.disk.status(draft) != nil)
    try folder.removeOldDrafts(now: folder.disk.now() + 7_200_000_000_000)
    #expect(try folder.disk.status(draft) == nil)
  }

  @Test("letters are ordered by date, and those of one sender by number whatever its clock said")
  func orderOfSenders() {
    func letter(_ sender: UInt64, _ number: UInt32, _ date: Int64) -> LetterName {
      LetterName(date: date, sender: sender, number: number)
    }
    let expected = [
      letter(2, 1, 7), letter(1, 1, 10), letter(1, 2, 5), letter(3, 1, 10), letter(2, 2, 11), letter(1, 3, 12),
    ]
    for _ in 0..<20 { #expect(LetterName.ordered(expected.shuffled()) == expected) }
  }

  @Test("a run within another one of the same store is refused and not waited for, whoever has the turn")
  func runWithinRun() throws {
    let disk = SimulatedDisk()
    let store = try store(on: disk)
    try sender(on: disk).send(letter("1", at: 1, put(1, "a")))
    var inner: ModelError?
    _ = try store.applyLetters { _, _ throws(ModelError) in
      do throws(ModelError) { _ = try store.applyLetters() } catch { inner = error }
      return true
    }
    guard case .refused? = inner else {
      Issue.record("the inner run ended with \(String(describing: inner))")
      return
    }
    #expect(try actions(of: store) == ["1"])
  }

  @Test("a full inbox refuses and keeps nothing of the letter, and has room again when letters were applied")
  func full() throws {
    let disk = SimulatedDisk()
    let store = try store(on: disk)
    let sender = sender(on: disk, mostLetters: 3)
    for number in 1...3 { try sender.send(letter("\(number)", at: Int64(number), put(number, "x"))) }
    #expect(throws: ModelError.refused(reason: "the inbox is full: 3 letters wait for the store's owner")) {
      try sender.send(letter("4", at: 4, put(4, "x")))
    }
    #expect(try disk.list(sender.folder.draftsPath).isEmpty)
    _ = try store.applyLetters()
    try sender.send(letter("5", at: 5, put(5, "x")))
    #expect(try store.applyLetters().count == 1)
  }

  @Test("100 letters need few syncs to be applied, and two and a half at most each to be sent")
  func syncs() throws {
    let disk = SimulatedDisk(seed: 3)
    let store = try store(on: disk)
    let sender = sender(on: disk)
    try sender.send(letter("0", at: 1, put(0, "x")))
    let before = disk.counts
    for number in 1...100 { try sender.send(letter("\(number)", at: Int64(number), put(number, "x"))) }
    let sent = disk.counts
    #expect(syncs(sent) - syncs(before) <= 250)
    _ = try store.applyLetters()
    #expect(syncs(disk.counts) - syncs(sent) < 20)
    #expect(try actions(of: store).count == 101)
  }

  private func syncs(_ counts: [DiskCall: Int]) -> Int {
    counts[.sync, default: 0] + counts[.syncDirectory, default: 0]
  }

  @Test("a sender killed at any call of its first letter does not keep the next one from being sent and durable")
  func killedSender() throws {
    var calls = 1
    while true {
      let disk = SimulatedDisk(seed: 7)
      disk.plant(DiskFault(number: calls, code: 5, isLasting: true))
      let isSent = (try? sender(on: disk).send(letter("first", at: 1, put(1, "x")))) != nil
      disk.plant(nil)
      try sender(on: disk).send(letter("second", at: 2, put(2, "x")))
      disk.note(1)
      // The first sender was killed, so that its calls did not fail: there were none.
      let record = disk.record.filter { if case .syncFailed = $0 { false } else { true } }
      CrashImages.forEach(of: record, on: disk.start, seed: 5) { crash in
        guard crash.notes.last != nil else { return }
        let waiting = try? InboxFolder(ofStoreAt: Self.path, disk: SimulatedDisk(crash.image)).waiting()
        #expect((waiting?.count ?? 0) >= (isSent ? 2 : 1), "call \(calls), \(crash.kind) after \(crash.position)")
      }
      if isSent { break }
      calls += 1
    }
    #expect(calls > 10)
  }

  @Test("a letter stays until its commit is durable, also if the last letter of a run makes no commit")
  func refusedLast() throws {
    let disk = SimulatedDisk(seed: 13)
    let store = EngineStore(try store(on: disk).engine, path: Self.path, keepsLock: true, disk: disk)
    let (first, second) = (sender(on: disk), sender(on: disk))
    let held = try second.send(letter("held", at: 1, put(1, "x")))
    let damaged = try second.send(letter("damaged", at: 3, put(2, "x")))
    try disk.writeDurably([0x0A], to: "\(second.folder.waitingPath)/\(damaged)")
    try first.send(letter("sent", at: 2, put(3, "x")))
    disk.note(1)
    #expect(try store.applyLetters { name, _ in name != held }.count == 2)
    var count = 0
    try CrashImages.forEach(of: disk.record, on: disk.start, seed: 5) { crash in
      guard crash.notes.last != nil else { return }
      count += 1
      let store = try EngineStore.open(path: Self.path, disk: SimulatedDisk(crash.image))
      _ = try store.applyLetters()
      #expect(try actions(of: store).contains("sent"), "\(crash.kind) after \(crash.position) operations")
    }
    #expect(count > 20)
  }

  @Test("a power cut at any moment neither loses a letter that was sent nor applies one twice")
  func powerCuts() throws {
    let disk = SimulatedDisk(seed: 11)
    let store = try store(on: disk)
    let senders = [sender(on: disk), sender(on: disk)]
    var sent: UInt64 = 0
    for round in 0..<4 {
      for sender in senders {
        sent += 1
        // The third can never be applied.
        let change = sent == 3 ? patch(99, ["text": "x"]) : put(Int(sent % 4), "\(sent)")
        try sender.send(letter("\(sent)", at: Int64(sent), change))
        disk.note(sent)
      }
      if round % 2 == 1 { _ = try store.applyLetters() }
    }
    var count = 0
    try CrashImages.forEach(of: disk.record, on: disk.start, seed: 5) { crash in
      guard let promised = crash.notes.last else { return }
      count += 1
      let disk = SimulatedDisk(crash.image)
      let store = try EngineStore.open(path: Self.path, disk: disk)
      _ = try store.applyLetters()
      let found = try actions(of: store).compactMap { UInt64($0) }
      let what: Comment = "\(crash.kind) after \(crash.position) operations: \(found) of \(promised)"
      #expect(Set(found).count == found.count, what)
      #expect(Set(found).isSuperset(of: (1...promised).filter { $0 != 3 }), what)
      for odd: UInt64 in [0, 1] {
        #expect(found.filter { $0 % 2 == odd } == found.filter { $0 % 2 == odd }.sorted(), what)
      }
      #expect(try promised < 3 || store.inbox?.refused().count == 1, what)
    }
    #expect(count > 200)
  }
}
