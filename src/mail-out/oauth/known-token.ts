/** What is known of the access token for the smarthost. */
export interface KnownToken {
  /** Of the access token: every new one has a higher one. */
  serial: number
  /** Null: there is none. */
  accessToken: string | null
  /** Epoch, ms. */
  expiresAt: number
  /** Why the last fetch failed, as the end of a sentence; null: it did not. */
  trouble: string | null
  /** True if nothing is fetched until a human has changed something: then nothing is sent with the token either. */
  isOff: boolean
}

/** Between the start of a connection and the login, at the most, ms. */
const marginMs = 10_000

/** The access token that may be used now; null: none. */
export const usableToken = ({ accessToken, expiresAt, isOff }: KnownToken, now: number): string | null =>
  !isOff && now < expiresAt - marginMs ? accessToken : null
