/// The requests of one decoding: the keyed containers that it opened, and the members that it requested from them.
struct DecodingTrace {
  struct Container {
    var keys: any CodingKey.Type
    var asked: [(name: String, type: Any.Type, token: Int?)] = []
  }

  /// The containers, by the token of their object.
  private(set) var containers: [Int: Container] = [:]
  /// The tokens from which something else was requested.
  private var others: Set<Int> = []

  mutating func open(_ token: Int, keys: any CodingKey.Type) {
    if containers.updateValue(Container(keys: keys), forKey: token) != nil { addOther(token) }
  }

  mutating func addMember(_ key: any CodingKey, _ type: Any.Type, _ value: JSONValue?, of token: Int) {
    containers[token]?.asked.append((key.stringValue, type, value?.index))
  }

  mutating func addOther(_ token: Int) { others.insert(token) }

  /// The members requested from an object, if one container of its type's own coding keys was opened there, and nothing else was requested.
  func members(of token: Int, as type: Any.Type) -> [(name: String, type: Any.Type, token: Int?)]? {
    guard !others.contains(token), let container = containers[token] else { return nil }
    let (owner, keys) = (String(reflecting: type) + ".", String(reflecting: container.keys))
    guard keys.hasPrefix(owner) else { return nil }
    // `CodingKeys`, or `(unknown context at $7f…).CodingKeys` if it is private.
    let name = keys.dropFirst(owner.count).split(separator: ".")
    guard name.last == "CodingKeys", name.count == 1 || name.count == 2 && name[0].hasPrefix("(") else { return nil }
    return container.asked
  }
}
