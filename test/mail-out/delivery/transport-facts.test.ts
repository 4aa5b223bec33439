import { describe, expect, test } from 'vitest'
import { unconnectedAttempt } from '../../../src/mail-out/delivery/attempt.ts'
import { deferral } from '../../../src/mail-out/delivery/outcome.ts'
import { readTlsText, textOfPlain, textOfTls, type ConnectionTls } from '../../../src/mail-out/delivery/transport-facts.ts'
import { inPlain, opportunistic, testResult, transportPolicy } from '../../../src/mail-out/delivery/transport-policy.ts'
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

const nobody = { policy: 'opportunistic', source: null, sts: null }

test.each<Partial<ConnectionTls>>([
  {},
  { verified: false, problem: 'CERT_HAS_EXPIRED' },
  { isResumed: true, version: 'TLSv1.2', group: null },
  { isClassical: true, group: 'X25519' },
])('what an attempt says of its TLS is read as it was: %j', (part) => {
  const { isResumed, isClassical, problem, ...tls } = { ...full, ...part }
  const shown = { ...tls, problem: problem === '' ? null : problem, resumed: isResumed, classical_only: isClassical }
  for (const recipientTls of tlsPolicies) {
    const policy = transportPolicy(null, { recipientTls, senderTls: 'opportunistic', transfer: null }, null)
    const said = { policy: recipientTls, source: recipientTls === 'opportunistic' ? null : 'operator', sts: null, plainBecause: null }
    expect(readTlsText(textOfTls(policy, { ...full, ...part }))).toEqual({ ...said, tls: shown })
    expect(readTlsText(textOfTls(policy, null))).toEqual({ ...said, tls: null })
  }
})

test('plain text takes no room, unless TLS has failed', () => {
  expect(textOfTls(opportunistic, null)).toBe(null)
  expect(readTlsText(textOfPlain(opportunistic, 'failed', 'an alert'))).toEqual({ ...nobody, tls: null, plainBecause: 'an alert' })
})

test('of an attempt that ended before its policy was known, none is said', () => {
  const { tls } = unconnectedAttempt('rcp_1', deferral('internal_error', 'a fault').outcome)
  expect(readTlsText(tls)).toEqual({ ...nobody, policy: null, tls: null, plainBecause: null })
})

test('what earlier versions have written is read too', () => {
  const tls = { version: 'TLSv1.2', cipher: 'AES', verified: false }
  expect(readTlsText(JSON.stringify(tls))).toEqual({
    ...nobody,
    tls: { ...tls, group: null, problem: null, resumed: false, classical_only: false },
    plainBecause: null,
  })
})

describe('under a policy by MTA-STS', () => {
  const policyOf = (mode: 'enforce' | 'testing', mx: string[]) =>
    transportPolicy({ name: 'mx.example' }, asked, { domain: 'rcpt.example', policy: { mode, mx, maxAgeMs: 1 } })
  const asked = { recipientTls: null, senderTls: 'opportunistic', transfer: null } as const
  const listed = policyOf('testing', ['mx.example'])
  const unlisted = policyOf('testing', ['other.example'])
  const expired = { ...full, verified: false, problem: 'CERT_HAS_EXPIRED' }

  test.each<[string, string | null, string | null]>([
    ['all in order', textOfTls(listed, full), null],
    ['an expired certificate', textOfTls(listed, expired), 'CERT_HAS_EXPIRED'],
    ['a host that is not listed', textOfTls(unlisted, full), 'does not list the host mx.example: it lists other.example'],
    ['no connection', textOfTls(listed, null), null],
    ['no connection to a host that is not listed', textOfTls(unlisted, null), 'does not list'],
    ['a session without TLS', textOfTls(listed, null, testResult(listed, { is: 'not offered' })), 'does not offer STARTTLS'],
    ['plain text because TLS failed', textOfPlain(inPlain(listed), 'failed', 'an alert'), 'the handshake failed: an alert'],
    ['plain text because TLS was refused', textOfPlain(listed, 'refused', '454 no'), 'the host refused it: 454 no'],
  ])('that is tested, %s says what it has against the host', (_, text, objection) => {
    const expected = objection === null ? null : (expect.stringContaining(objection) as string)
    expect(readTlsText(text)).toMatchObject({ policy: 'opportunistic', source: null, sts: { mode: 'testing', objection: expected } })
  })

  test('that is enforced, it is the source', () => {
    expect(readTlsText(textOfTls(policyOf('enforce', ['mx.example']), full))).toMatchObject({
      policy: 'verify',
      source: 'mta_sts',
      sts: { mode: 'enforce', objection: null },
    })
  })
})
