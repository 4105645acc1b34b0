import Testing

@testable import CodableDatastore

@Suite("Values of very many members")
struct ManyMembersTests {
  private struct Members: Encodable {
    var values: [(name: String, value: Int)]

    func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: JSONKey.self)
      for (name, value) in values { try members.encode(value, forKey: JSONKey(stringValue: name)) }
    }
  }

  @Test("those that come in any order are written once each, in the order of their names, the last value of each")
  func anyOrder() throws {
    let values = (0..<200_000).map { (name: "\($0 * 7919 % 100_003)", value: $0) }
    let last = Dictionary(values.map { ($0.name, $0.value) }) { _, last in last }
    let members = last.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }
    let text = String(decoding: try StandardJSONEncoder().encode(Members(values: values)), as: UTF8.self)
    #expect(text == "{\(members.joined(separator: ","))}")
  }

  @Test("what only a large value needed is given back when the next one is written")
  func memory() throws {
    let writing = JSONWriting()
    for list in [Array(0..<100_000), [1]] {
      writing.begin(keepsTexts: true)
      try JSONValueEncoder(writing, 0).encode(list.map(String.init))
      #expect(writing.text { $0.count } == list.map { "\($0)".count + 3 }.reduce(1, +))
      writing.end()
    }
    #expect(writing.context.pointee.entries.capacity < 10_000)
  }
}
