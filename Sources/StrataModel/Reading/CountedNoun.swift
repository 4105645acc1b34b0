/// A number with its noun: `1 record`, `2 records`, `2 entries`.
package func counted(_ count: some BinaryInteger, _ noun: String, _ plural: String? = nil) -> String {
  "\(count) \(count == 1 ? noun : plural ?? noun + "s")"
}
