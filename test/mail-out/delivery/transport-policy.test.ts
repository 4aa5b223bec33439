import { describe, expect, test } from 'vitest'
import {
  opportunistic,
  plain,
  tlsObjection,
  transportPolicy,
  type Demands,
  type Shown,
  type TransportPolicy,
} from '../../../src/mail-out/delivery/transport-policy.ts'
import type { TlsPolicy } from '../../../src/platform/config/recipient-tls.ts'

/** The policy for a host, where only these ask for something. */
function policyBy({ smarthost, ...demands }: Partial<Demands> & { smarthost?: TlsPolicy }): TransportPolicy {
  const host = { smarthost: { host: 'relay.example', port: 587, ...(smarthost && { tls: { isImplicit: false, policy: smarthost } }) } }
  return transportPolicy(smarthost ? host : {}, { recipientTls: null, senderTls: 'opportunistic', transfer: null, ...demands })
}

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
  ])('where these ask for something: %j', (asked, expected) => {
    const { mode, source, key } = policyBy(asked)
    expect([mode, source].filter(Boolean).join(' ')).toBe(expected)
    expect(key).toBe(expected)
  })

  test('with REQUIRETLS is verified and passed on, apart from all others', () => {
    const transfer = { requireTls: true }
    const policies = [{}, { recipientTls: 'require' as const }, { smarthost: 'opportunistic' as const }].map((asked) =>
      policyBy({ ...asked, transfer }),
    )
    for (const policy of policies) expect(policy).toMatchObject({ mode: 'verify', source: 'message', isPassedOn: true })
    expect(policies[0]?.key).not.toBe(policyBy({ recipientTls: 'verify' }).key)
  })

  test('with `TLS-Required: No` is still what the operator and the sender require', () => {
    const transfer = { requireTls: false }
    expect(policyBy({ transfer })).toBe(opportunistic)
    expect(policyBy({ transfer, recipientTls: 'verify' })).toBe(policyBy({ recipientTls: 'verify' }))
    expect(policyBy({ transfer, senderTls: 'enforced' })).toBe(policyBy({ senderTls: 'enforced' }))
  })

  test('where no host was found, is what the mail asks for', () => {
    expect(transportPolicy(null, { recipientTls: 'require', senderTls: 'opportunistic', transfer: null })).toMatchObject({
      mode: 'require',
    })
  })
})

const shown = {
  valid: { is: 'encrypted', problem: '' },
  'self-signed': { is: 'encrypted', problem: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
  'not offered': { is: 'not offered' },
  refused: { is: 'refused', fault: '454 later' },
  failed: { is: 'failed', fault: 'an alert' },
} satisfies Record<string, Shown>
type Case = keyof typeof shown
const cases = Object.keys(shown) as Case[]
const [required, verified] = [policyBy({ recipientTls: 'require' }), policyBy({ senderTls: 'enforced' })]

describe.each<[TransportPolicy, Case[]]>([
  [plain, cases],
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
