import { expect, test } from 'vitest'
import { unconnectedAttempt } from '../../../src/mail-out/delivery/attempt.ts'
import { deferral } from '../../../src/mail-out/delivery/outcome.ts'
import { readTlsText, textOfPlain, textOfTls, type ConnectionTls } from '../../../src/mail-out/delivery/transport-facts.ts'
import { opportunistic, transportPolicy } from '../../../src/mail-out/delivery/transport-policy.ts'
import { tlsPolicies } from '../../../src/platform/config/recipient-tls.ts'

const full: ConnectionTls = {
  version: 'TLSv1.3',
  cipher: 'TLS_AES_256_GCM_SHA384',
  group: 'X25519MLKEM768',
  verified: true,
  problem: '',
  isResumed: false,
  isClassical: false,
}

test.each<Partial<ConnectionTls>>([
  {},
  { verified: false, problem: 'CERT_HAS_EXPIRED' },
  { isResumed: true, version: 'TLSv1.2', group: null },
  { isClassical: true, group: 'X25519' },
])('what an attempt says of its TLS is read as it was: %j', (part) => {
  const { isResumed, isClassical, problem, ...tls } = { ...full, ...part }
  const shown = { ...tls, problem: problem === '' ? null : problem, resumed: isResumed, classical_only: isClassical }
  for (const recipientTls of tlsPolicies) {
    const policy = transportPolicy(null, { recipientTls, senderTls: 'opportunistic', transfer: null })
    const said = { policy: recipientTls, source: recipientTls === 'opportunistic' ? null : 'operator', plainBecause: null }
    expect(readTlsText(textOfTls(policy, { ...full, ...part }))).toEqual({ ...said, tls: shown })
    expect(readTlsText(textOfTls(policy, null))).toEqual({ ...said, tls: null })
  }
})

test('plain text takes no room, unless TLS has failed', () => {
  expect(textOfTls(opportunistic, null)).toBe(null)
  expect(readTlsText(textOfPlain('an alert'))).toEqual({ policy: 'opportunistic', source: null, tls: null, plainBecause: 'an alert' })
})

test('of an attempt that ended before its policy was known, none is said', () => {
  const { tls } = unconnectedAttempt('rcp_1', deferral('internal_error', 'a fault').outcome)
  expect(readTlsText(tls)).toEqual({ policy: null, source: null, tls: null, plainBecause: null })
})

test('what earlier versions have written is read too', () => {
  const tls = { version: 'TLSv1.2', cipher: 'AES', verified: false }
  expect(readTlsText(JSON.stringify(tls))).toEqual({
    policy: 'opportunistic',
    source: null,
    tls: { ...tls, group: null, problem: null, resumed: false, classical_only: false },
    plainBecause: null,
  })
})
