/** A server's answer (RFC 5321 4.2, RFC 3463). */
export interface Reply {
  /** 200 … 599 */
  code: number
  /** `5.1.1`, or null where the server gave none. */
  enhancedCode: string | null
  /** The text lines without codes, joined by a line feed. */
  text: string
}
