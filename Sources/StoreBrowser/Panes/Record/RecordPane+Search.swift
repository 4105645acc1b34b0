import StrataDocuments
import StrataModel

/// `/` in a record: in all of it, folded branches and the hidden ends of long values too.
extension RecordPane {
  var marksHits: Bool { form != .hex }

  /// Goes to the next place with a text, from the one after the selection on and round to it.
  mutating func search(_ command: Command, _ text: String?, in session: inout Session) {
    if let text, !text.isEmpty { searchText = try? SearchText(text) }
    session.markedText = searchText
    guard let searchText, count > 0 else { return }
    let isFound: Bool
    switch form {
    case .tree: isFound = searchTree(searchText, command)
    case .json:
      let lines = self.text
      isFound = list.select(command, count: count) { searchText.occurs(in: lines[$0]) } != nil
    case .hex: return searchBytes(searchText, command, in: &session)
    }
    if !isFound { session.warn("no field with “\(searchText.typed)”") }
  }

  private mutating func searchTree(_ needle: SearchText, _ command: Command) -> Bool {
    guard let document = whole else { return false }
    var search = DocumentSearch(needle: needle, from: selectedLine?.path)
    search.look(at: document, name: "")
    guard let number = ListWindow.next(command, of: search.hits.map(\.number), from: search.start),
      let hit = search.hits.first(where: { $0.number == number })
    else { return false }
    reveal(hit.path)
    return true
  }

  /// Searches on a thread that may take long: a record may have many megabytes.
  private func searchBytes(_ text: SearchText, _ command: Command, in session: inout Session) {
    guard let request = answer?.request, let bytes = answer?.record?.content else { return }
    let search = Inquiry { [here = list.selection] context throws(ModelError) in
      ListWindow.next(command, of: try Self.lines(of: bytes, with: text, context), from: here)
    }
    session.start(Self.bytes, search, label: "search") { browser, line in
      guard browser.record.form == .hex, browser.record.answer?.request == request else { return }
      guard let line else { return browser.session.warn("no field with “\(text.typed)”") }
      browser.record.list.selection = line
    }
  }

  static let bytes = WorkSlot(name: "bytes", isLong: true)

  /// The lines of sixteen bytes in which a text begins.
  private static func lines(
    of bytes: [UInt8], with text: SearchText, _ context: WorkContext
  ) throws(ModelError) -> [Int] {
    // In pieces, because text takes many times the memory of its bytes. Each has the bytes around it, so that no hit is cut.
    let (length, around) = (1 << 16, 1 << 12)
    var lines: [Int] = []
    for start in stride(from: 0, to: bytes.count, by: length) {
      try context.goOn()
      let (first, last) = (max(0, start - around), min(bytes.count, start + length + around))
      let characters = Array(Self.text(of: bytes[first..<last]))
      var end = first
      let offsets = characters.map { character in
        defer { end += character.utf8.count }
        return end
      }
      let found = text.places(in: characters).map { offsets[$0.lowerBound] }
      lines += found.filter { (start..<start + length).contains($0) }.map { $0 / 16 }
    }
    return lines
  }

  /// The bytes as text of the same length; those that are none are zeros.
  private static func text(of bytes: ArraySlice<UInt8>) -> String {
    var (parser, rest, text) = (UTF8.ForwardParser(), bytes.makeIterator(), "")
    while true {
      switch parser.parseScalar(from: &rest) {
      case .valid(let scalar): text.unicodeScalars.append(UTF8.decode(scalar))
      case .error(let length): for _ in 0..<length { text.unicodeScalars.append("\0") }
      case .emptyInput: return text
      }
    }
  }
}

/// The places of a document whose name or value has a text, in its order, with their numbers among all places.
private struct DocumentSearch {
  let needle: SearchText
  let origin: [DocumentPath.Component]?
  private var here: [DocumentPath.Component] = []
  private var count = 0
  private(set) var hits: [(number: Int, path: DocumentPath)] = []
  /// The number of the place at which the search begins; -1 if it is not met.
  private(set) var start = -1

  init(needle: SearchText, from path: DocumentPath?) {
    self.needle = needle
    origin = path?.components
  }

  mutating func look(at value: Document, name: String) {
    if start < 0, here == origin { start = count }
    if has(value, name: name) { hits.append((count, DocumentPath(here))) }
    count += 1
    switch value {
    case .object(let members): for member in members { step(.member(member.name), member.value, member.name) }
    case .array(let elements): for (place, element) in elements.enumerated() { step(.index(place), element, "") }
    default: break
    }
  }

  private mutating func step(_ component: DocumentPath.Component, _ value: Document, _ name: String) {
    here.append(component)
    look(at: value, name: name)
    here.removeLast()
  }

  private func has(_ value: Document, name: String) -> Bool {
    if !name.isEmpty, needle.occurs(in: name) { return true }
    return value.isLeaf && needle.occurs(in: value.searchText)
  }
}
