import StrataDocuments
import StrataEngine
public import StrataFoundation
import StrataLocks
import StrataModel

/// Sends changes to the program that owns a store, without opening the store.
///
/// An extension or a widget uses it instead of a ``DiskPersistence``. Each call leaves one letter in the folder `inbox` of the store.
/// It takes no lock and opens no file of the store, so it works while the device is locked, while the store is compacted, and before the
/// store exists. The owner applies each letter once, as one commit; see ``StoreConfiguration/appliesInbox``.
///
/// ```swift
/// let outbox = try Outbox(storeAt: url)
/// try await outbox.send("Share") { letter in
///   try letter.persist(book, in: BookFormat.self)
///   try letter.delete("Ulysses", from: BookFormat.self)
/// }
/// ```
public struct Outbox: Sendable {
  private let sender: LetterSender
  private let program: String
  private let author: String

  /// An outbox for a store. Touches no file.
  ///
  /// - Parameters:
  ///   - storeAt: The location of the store, which need not exist yet.
  ///   - program: The program that the commits name; nil names this process.
  ///   - author: The user that the commits name; nil names the user of this process.
  /// - Throws: ``DiskPersistenceError/notFileURL`` for anything but a file URL.
  public init(storeAt url: URL, program: String? = nil, author: String? = nil) throws {
    guard url.isFileURL else { throw DiskPersistenceError.notFileURL }
    sender = .shared(forStoreAt: StoreConnection.path(of: url))
    self.program = program ?? StoreConnection.programName
    self.author = author ?? StoreConnection.userName
  }

  /// Sends changes that are applied together, or not at all. The letter is durable when the call returns.
  ///
  /// Cost: about two syncs of the disk.
  ///
  /// - Parameters:
  ///   - action: The name of the owner's commit.
  ///   - body: Adds the changes.
  /// - Throws: ``StoreError`` of kind `refused` if more than 10,000 letters wait or the letter is longer than 16 MiB; of kind
  ///   `inputOutput` if it cannot be written; any error of `body` or an encoder. Then nothing is sent.
  public func send(_ action: String, _ body: (inout OutgoingLetter) throws -> Void) async throws {
    guard let letter = try letter(action, body) else { return }
    try await onThread { [sender] in
      try throwingStoreErrors { _ = try sender.send(letter) }
    }
  }

  /// Sends changes that are applied together, or not at all, and blocks the calling thread until the letter is durable.
  ///
  /// - Parameters:
  ///   - action: The name of the owner's commit.
  ///   - body: Adds the changes.
  /// - Throws: As ``send(_:_:)``.
  public func sendBlocking(_ action: String, _ body: (inout OutgoingLetter) throws -> Void) throws {
    guard let letter = try letter(action, body) else { return }
    try throwingStoreErrors { _ = try sender.send(letter) }
  }

  /// Sends one instance, to be inserted or to replace the one of the same identifier.
  ///
  /// - Throws: As ``send(_:_:)``.
  public func persist<Format: DatastoreFormat>(
    _ instance: Format.Instance, in format: Format.Type
  ) async throws where Format.Instance: Identifiable, Format.Instance.ID == Format.Identifier {
    try await send("persist \(Format.defaultKey.rawValue)") { try $0.persist(instance, in: format) }
  }

  private func letter(_ action: String, _ body: (inout OutgoingLetter) throws -> Void) throws -> Letter? {
    var changes = OutgoingLetter()
    try body(&changes)
    guard !changes.changes.isEmpty else { return nil }
    return Letter(
      date: SystemDisk().now(), program: program, author: author, action: action, changes: changes.changes)
  }
}

/// The changes of one letter, in order.
public struct OutgoingLetter: Sendable {
  var changes: [Letter.Change] = []

  /// Adds an instance, to be inserted or to replace the one of the same identifier.
  ///
  /// - Parameters:
  ///   - instance: The instance.
  ///   - format: The declaration of its datastore.
  ///   - key: The name of the datastore in the store.
  ///   - isNew: Whether the owner refuses the letter if there is an instance of this identifier.
  ///   - encoder: Encodes the instance, as the datastore does.
  /// - Throws: An error of the encoder; ``InvalidKeyError``.
  public mutating func persist<Format: DatastoreFormat>(
    _ instance: Format.Instance, in format: Format.Type, key: DatastoreKey = Format.defaultKey, isNew: Bool = false,
    encoder: JSONEncoder = StandardCoders.jsonEncoder
  ) throws where Format.Instance: Identifiable, Format.Instance.ID == Format.Identifier {
    let content = RecordContent(
      version: VersionTag<Format>.text(of: Format.currentVersion), bytes: [UInt8](try encoder.encode(instance)))
    try add(.put(content, isNew: isNew), of: instance.id, format, key)
  }

  /// Adds the deletion of an instance. If there is none, the deletion changes nothing.
  ///
  /// - Parameters:
  ///   - identifier: The instance's identifier.
  ///   - format: The declaration of its datastore.
  ///   - key: The name of the datastore in the store.
  /// - Throws: ``InvalidKeyError``.
  public mutating func delete<Format: DatastoreFormat>(
    _ identifier: Format.Identifier, from format: Format.Type, key: DatastoreKey = Format.defaultKey
  ) throws {
    try add(.delete, of: identifier, format, key)
  }

  private mutating func add<Format: DatastoreFormat>(
    _ kind: Letter.Change.Kind, of identifier: Format.Identifier, _ format: Format.Type, _ key: DatastoreKey
  ) throws {
    let coder = KeyCoder<Format.Identifier>.make()
    let value: KeyValue
    do {
      let bytes = try coder.key(of: identifier)
      value = try throwingStoreErrors { try coder.encoding.decode(bytes) }
    } catch let error as NotOrdered {
      throw InvalidKeyError(datastore: key.rawValue, index: nil, reason: error.description)
    }
    changes.append(Letter.Change(datastore: key.rawValue, identifier: value.document, kind: kind))
  }
}

extension LetterSender {
  /// The only sender of this process for a store, so that its letters are numbered consecutively.
  fileprivate static func shared(forStoreAt path: String) -> LetterSender {
    senders.withLock { senders in
      if let sender = senders[path] { return sender }
      let sender = LetterSender(InboxFolder(ofStoreAt: path))
      senders[path] = sender
      return sender
    }
  }
}

private let senders = Mutex<[String: LetterSender]>([:])
