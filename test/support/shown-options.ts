import type { FakeMxOptions } from './fake-mx.ts'
import type { Shown, ShownCertificates } from './tls-outcomes.ts'

/** A fake MX host that shows this. */
export function shownOptions(shown: Shown, certificates: ShownCertificates): FakeMxOptions {
  const refusing = (reply: string): FakeMxOptions => ({ tls: certificates['a valid certificate'], on: { starttls: () => reply } })
  switch (shown) {
    case 'no STARTTLS':
      return {}
    case 'STARTTLS that it refuses for now':
      return refusing('454 4.7.0 not now')
    case 'STARTTLS that it refuses for good':
      return refusing('502 5.5.1 no')
    case 'a handshake that fails':
      return { tls: 'garbage' }
    default:
      return { tls: certificates[shown] }
  }
}
