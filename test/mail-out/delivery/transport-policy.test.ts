import { describe, expect, test } from 'vitest'
import {
  inPlain,
  opportunistic,
  testResult,
  tlsObjection,
  transportPolicy,
  type Demands,
  type Shown,
  type TransportPolicy,
} from '../../../src/mail-out/delivery/transport-policy.ts'
import type { TlsPolicy } from '../../../src/platform/config/recipient-tls.ts'

/** `listed`: whether the host is, in the policy that is published. */
type Asked = Partial<Demands> & { smarthost?: TlsPolicy; sts?: 'enforce' | 'testing'; listed?: boolean }

/** The policy for a host, where only these ask for something. */
function policyBy({ smarthost, sts, listed = true, ...demands }: Asked): TransportPolicy {
  const host = {
    name: 'mx.rcpt.example',
    smarthost: { host: 'relay.example', port: 587, ...(smarthost && { tls: { isImplicit: false, policy: smarthost } }) },
  }
  const published = sts
    ? { domain: 'rcpt.example', policy: { mode: sts, mx: [listed ? 'mx.rcpt.example' : 'other.example'], maxAgeMs: 1 } }
    : null
  return transportPolicy(
    smarthost ? host : { name: host.name },
    { recipientTls: null, senderTls: 'opportunistic', transfer: null, ...demands },
    published,
  )
}

const shown = {
  valid: { is: 'encrypted', problem: '' },
  'self-signed': { is: 'encrypted', problem: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
  'not offered': { is: 'not offered' },
  refused: { is: 'refused', fault: '454 later' },
  failed: { is: 'failed', fault: 'an alert' },
} satisfies Record<string, Shown>
type Case = keyof typeof shown
const cases = Object.keys(shown) as Case[]

describe('the policy for a host', () => {
  test.each<[Parameters<typeof policyBy>[0], string]>([
    [{}, 'opportunistic'],
    [{ recipientTls: 'opportunistic' }, 'opportunistic'],
    [{ recipientTls: 'require' }, 'require operator'],
    [{ recipientTls: 'verify' }, 'verify operator'],
    [{ senderTls: 'enforced' }, 'verify sender'],
    [{ senderTls: 'enforced', recipientTls: 'opportunistic' }, 'verify sender'],
    [{ senderTls: 'enforced', recipientTls: 'require' }, 'verify sender'],
    [{ senderTls: 'enforced', recipientTls: 'verify' }, 'verify operator'],
    [{ smarthost: 'opportunistic' }, 'opportunistic'],
    [{ smarthost: 'opportunistic', recipientTls: 'require' }, 'require operator'],
    [{ smarthost: 'require' }, 'require smarthost'],
    [{ smarthost: 'require', recipientTls: 'verify' }, 'verify operator'],
    [{ smarthost: 'verify', recipientTls: 'require' }, 'verify smarthost'],
    [{ smarthost: 'verify', senderTls: 'enforced' }, 'verify sender'],
    [{ sts: 'enforce' }, 'verify mta_sts'],
    [{ sts: 'enforce', senderTls: 'enforced' }, 'verify mta_sts'],
    [{ sts: 'enforce', smarthost: 'require' }, 'verify mta_sts'],
    [{ sts: 'enforce', recipientTls: 'opportunistic' }, 'opportunistic'],
    [{ sts: 'enforce', recipientTls: 'require' }, 'require operator'],
    [{ sts: 'testing' }, 'opportunistic, tested: verify mta_sts'],
    [{ sts: 'testing', senderTls: 'enforced' }, 'verify sender, tested: verify mta_sts'],
    [{ sts: 'testing', recipientTls: 'require' }, 'require operator'],
  ])('where these ask for something: %j', (asked, expected) => {
    const { mode, source, tested } = policyBy(asked)
    const [own, underTest = null] = expected.split(', tested: ')
    expect([mode, source].filter(Boolean).join(' ')).toBe(own)
    expect(tested ? `${tested.mode} ${tested.source}` : null).toBe(underTest)
  })

  test('with REQUIRETLS is verified and passed on, apart from all others', () => {
    const transfer = { requireTls: true }
    const policies = [{}, { recipientTls: 'require' as const }, { smarthost: 'opportunistic' as const }].map((asked) =>
      policyBy({ ...asked, transfer }),
    )
    for (const policy of policies) expect(policy).toMatchObject({ mode: 'verify', source: 'message', isPassedOn: true })
    expect(policies[0]?.key).not.toBe(policyBy({ recipientTls: 'verify' }).key)
  })

  test('with REQUIRETLS trusts a host that an enforced policy of the domain lists', () => {
    const transfer = { requireTls: true }
    expect(policyBy({ transfer }).closed).toContain('neither MTA-STS nor DNSSEC vouches')
    expect(policyBy({ transfer, sts: 'testing' }).closed).toContain('neither MTA-STS nor DNSSEC vouches')
    expect(policyBy({ transfer, sts: 'enforce' })).toMatchObject({ source: 'message', isPassedOn: true })
    for (const recipientTls of [null, 'opportunistic', 'require', 'verify'] as const)
      expect(policyBy({ transfer, sts: 'enforce', recipientTls }).closed).toBe(undefined)
    expect(policyBy({ transfer, sts: 'enforce', listed: false })).toMatchObject({ source: 'mta_sts', closed: expect.any(String) as string })
  })

  test('with `TLS-Required: No` is still what the operator and the sender require', () => {
    const transfer = { requireTls: false }
    expect(policyBy({ transfer })).toBe(opportunistic)
    expect(policyBy({ transfer, recipientTls: 'verify' })).toBe(policyBy({ recipientTls: 'verify' }))
    expect(policyBy({ transfer, senderTls: 'enforced' })).toBe(policyBy({ senderTls: 'enforced' }))
    // What the domain publishes is reported only.
    expect(policyBy({ transfer, sts: 'enforce', listed: false })).toMatchObject({ mode: 'opportunistic', tested: { source: 'mta_sts' } })
  })

  test('where no host was found, is what the mail asks for', () => {
    expect(transportPolicy(null, { recipientTls: 'require', senderTls: 'opportunistic', transfer: null }, null)).toMatchObject({
      mode: 'require',
    })
  })
})

const [required, verified] = [policyBy({ recipientTls: 'require' }), policyBy({ senderTls: 'enforced' })]

describe('a host that a policy by MTA-STS does not list', () => {
  test('is closed to the mail, whatever it shows', () => {
    const policy = policyBy({ sts: 'enforce', listed: false })
    for (const is of cases)
      expect(tlsObjection(policy, shown[is])).toBe(
        'the MTA-STS policy of rcpt.example does not list the host mx.rcpt.example: it lists other.example',
      )
  })

  test('is only reported if the policy is tested, in plain text too', () => {
    const tested = policyBy({ sts: 'testing', listed: false })
    for (const policy of [tested, inPlain(tested)]) {
      expect([policy.closed, tlsObjection(policy, shown['not offered'])]).toEqual([undefined, null])
      expect(testResult(policy, shown.valid)).toContain('does not list the host')
    }
    expect(testResult(policyBy({ sts: 'testing' }), shown.valid)).toBe(true)
    expect(testResult(opportunistic, shown.valid)).toBe(undefined)
  })

  test('does not share its connection with one that is listed', () => {
    const keys = [true, false].map((listed) => policyBy({ sts: 'testing', listed }).key)
    expect(new Set(keys).size).toBe(2)
  })
})

describe.each<[TransportPolicy, Case[]]>([
  [inPlain(opportunistic), cases],
  [opportunistic, cases],
  [required, ['valid', 'self-signed']],
  [verified, ['valid']],
])('under $key', (policy, sent) => {
  test.each(cases)('a host that shows: %s', (is) => {
    const objection = tlsObjection(policy, shown[is])
    expect(objection === null).toBe(sent.includes(is))
    // It names the policy, in the words that explanations and bounces know.
    if (objection !== null) expect(objection).toMatch(new RegExp(`^TLS is required by the policy ${policy.mode} `))
  })
})

test('the objection says who requires TLS, and what the host has shown', () => {
  expect(tlsObjection(verified, shown['self-signed'])).toBe(
    "TLS is required by the policy verify of the sender's domain, but the certificate is not valid for the host: DEPTH_ZERO_SELF_SIGNED_CERT",
  )
  expect(tlsObjection(required, shown['not offered'])).toMatch(/require for the recipient's domain, but .* does not offer STARTTLS/)
  expect(tlsObjection(policyBy({ smarthost: 'require' }), shown.refused)).toMatch(/for the smarthost, .* refused it: 454 later/)
  expect(tlsObjection(required, shown.failed)).toContain('handshake failed: an alert')
})
