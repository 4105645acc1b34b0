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
    case .hex: isFound = searchBytes(Array(searchText.needle.utf8), command)
    }
    if !isFound { session.warn("no field with “\(searchText.typed)”") }
  }

  private mutating func searchTree(_ needle: SearchText, _ command: Command) -> Bool {
    guard let document = whole else { return false }
    var search = DocumentSearch(needle: needle, from: selectedLine?.path)
    search.look(at: document, name: "")
    guard let path = search.hit(for: command) else { return false }
    reveal(path)
    return true
  }

  private mutating func searchBytes(_ needle: [UInt8], _ command: Command) -> Bool {
    guard let bytes = answer?.record?.content, !needle.isEmpty else { return false }
    let lines = bytes.indices.dropLast(needle.count - 1).lazy
      .filter { bytes[$0] == needle[0] && bytes[$0..<$0 + needle.count].elementsEqual(needle) }.map { $0 / 16 }
    let here = list.selection
    let line =
      switch command {
      case .searchPrevious: lines.last { $0 < here } ?? lines.last
      case .searchNext: lines.first { $0 > here } ?? lines.first
      default: lines.first { $0 >= here } ?? lines.first
      }
    guard let line else { return false }
    list.selection = line
    return true
  }
}

/// The places of a document whose name or value has a text, in its order.
private struct DocumentSearch {
  let needle: SearchText
  let start: [DocumentPath.Component]?
  private var here: [DocumentPath.Component] = []
  private var startIsPassed = false
  private var before: [DocumentPath] = []
  private var at: DocumentPath?
  private var after: [DocumentPath] = []

  init(needle: SearchText, from path: DocumentPath?) {
    self.needle = needle
    start = path?.components
  }

  mutating func look(at value: Document, name: String) {
    let isStart = !startIsPassed && here == start
    if isStart { startIsPassed = true }
    if has(value, name: name) {
      let path = DocumentPath(here)
      if isStart { at = path } else if startIsPassed { after.append(path) } else { before.append(path) }
    }
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

  func hit(for command: Command) -> DocumentPath? {
    switch command {
    case .searchPrevious: before.last ?? after.last ?? at
    case .searchNext: after.first ?? before.first ?? at
    default: at ?? after.first ?? before.first
    }
  }
}
