import StrataDocuments
package import StrataEngine

extension CommitIdentity {
  /// Origin in hexadecimal and number: `6f1c0a90d1e2f3a4:121`.
  package var text: String { "\(Hexadecimal.text(of: origin)):\(number)" }

  package init?(text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].utf8.count == 16, parts[0].utf8.allSatisfy({ $0 != UInt8(ascii: "+") }),
      let origin = UInt64(parts[0], radix: 16), let number = UInt64(parts[1]), number > 0
    else { return nil }
    self.init(origin: origin, number: number)
  }
}

extension StoreIdentity {
  /// The identity of the store in hexadecimal, which its copies share.
  package var text: String { Hexadecimal.text(of: high) + Hexadecimal.text(of: low) }
}
