import { describe, expect, test } from 'vitest'
import type { TlsMode } from '../../../src/mail-out/delivery/tls-policy.ts'
import { tlsObjection, type Shown } from '../../../src/mail-out/delivery/transport-policy.ts'

const shown = {
  valid: { is: 'encrypted', problem: '' },
  'self-signed': { is: 'encrypted', problem: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
  'not offered': { is: 'not offered' },
  refused: { is: 'refused', fault: '454 later' },
  failed: { is: 'failed', fault: 'an alert' },
} satisfies Record<string, Shown>
type Case = keyof typeof shown
const cases = Object.keys(shown) as Case[]

describe.each<[TlsMode, Case[]]>([
  ['plain', cases],
  ['opportunistic', cases],
  ['require', ['valid', 'self-signed']],
  ['verify', ['valid']],
])('under %s', (mode, sent) => {
  test.each(cases)('a host that shows: %s', (is) => {
    const objection = tlsObjection(mode, shown[is])
    expect(objection === null).toBe(sent.includes(is))
    // It names the policy, in the words that explanations and bounces know.
    if (objection !== null) expect(objection).toMatch(new RegExp(`^TLS is required by the policy ${mode}, but `))
  })
})

test('the objection says what the host has shown', () => {
  expect(tlsObjection('verify', shown['self-signed'])).toContain('not valid for the host: DEPTH_ZERO_SELF_SIGNED_CERT')
  expect(tlsObjection('require', shown['not offered'])).toContain('does not offer STARTTLS')
  expect(tlsObjection('require', shown.refused)).toContain('refused it: 454 later')
  expect(tlsObjection('require', shown.failed)).toContain('handshake failed: an alert')
})
