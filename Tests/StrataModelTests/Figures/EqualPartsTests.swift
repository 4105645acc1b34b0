import Testing

@testable import StrataModel

@Suite("Equal parts of a range")
struct EqualPartsTests {
  @Test("a value lies in its part, also in ranges wider than any number and too narrow to be cut")
  func parts() {
    #expect((0.0...10).part(of: 0, among: 5) == 0)
    #expect((0.0...10).part(of: 3.9, among: 5) == 1)
    #expect((0.0...10).part(of: 10, among: 5) == 4)
    #expect((0.0...10).part(of: 99, among: 5) == 4)
    #expect((0.0...10).part(of: -99, among: 5) == 0)
    let widest = -Double.greatestFiniteMagnitude...Double.greatestFiniteMagnitude
    #expect(widest.part(of: -.greatestFiniteMagnitude, among: 4) == 0)
    #expect(widest.part(of: 1, among: 4) == 2)
    #expect(widest.part(of: .greatestFiniteMagnitude, among: 4) == 3)
    let narrowest = 0...Double.leastNonzeroMagnitude
    #expect((0..<4).contains(narrowest.part(of: .leastNonzeroMagnitude, among: 4)))
    #expect((1.0...1).part(of: 1, among: 4) == 0)
    for value in [Double.nan, .infinity, -.infinity] { #expect((0..<4).contains((0.0...1).part(of: value, among: 4))) }
  }
}
