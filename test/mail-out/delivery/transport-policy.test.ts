import { describe, expect, test } from 'vitest'
import {
  demandsTls,
  judgeName,
  judgeTls,
  policyInForce,
  type HostPolicy,
  type KnownPolicies,
  type Shown,
} from '../../../src/mail-out/delivery/transport-policy.ts'

const none: KnownPolicies = { sender: 'opportunistic', recipient: null, tlsa: 'none', sts: null }
const sts = { mode: 'enforce' as const, mx: ['*.mx.example', 'mail.other.example'] }

describe('the policy in force', () => {
  test.each<[Partial<KnownPolicies>, HostPolicy]>([
    [{}, { kind: 'opportunistic' }],
    [{ sender: 'verify' }, { kind: 'verify' }],
    [{ sts }, { kind: 'mta-sts', ...sts, floor: 'opportunistic' }],
    [
      { sts, sender: 'verify' },
      { kind: 'mta-sts', ...sts, floor: 'verify' },
    ],
    [
      { sts, tlsa: 'usable' },
      { kind: 'dane', tlsa: 'usable', floor: 'require' },
    ],
    [
      { sts, tlsa: 'bogus' },
      { kind: 'dane', tlsa: 'bogus', floor: 'require' },
    ],
    [
      { sts, tlsa: 'unusable' },
      { kind: 'mta-sts', ...sts, floor: 'require' },
    ],
    [{ tlsa: 'unusable' }, { kind: 'dane', tlsa: 'unusable', floor: 'require' }],
    [{ sts, tlsa: 'usable', recipient: 'opportunistic' }, { kind: 'opportunistic' }],
    [{ recipient: 'opportunistic', sender: 'verify' }, { kind: 'verify' }],
    [{ recipient: 'require' }, { kind: 'require' }],
  ])('of %j', (known, expected) => {
    expect(policyInForce({ ...none, ...known })).toEqual(expected)
  })
})

const shown = {
  valid: { is: 'encrypted', problem: '' },
  'self-signed': { is: 'encrypted', problem: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
  expired: { is: 'encrypted', problem: 'CERT_HAS_EXPIRED' },
  'wrong name': { is: 'encrypted', problem: 'ERR_TLS_CERT_ALTNAME_INVALID' },
  'self-signed, matches': { is: 'encrypted', problem: 'DEPTH_ZERO_SELF_SIGNED_CERT', matchesTlsa: true },
  'not offered': { is: 'not offered' },
  refused: { is: 'refused', fault: '454 later' },
  failed: { is: 'failed', fault: 'an alert' },
} satisfies Record<string, Shown>
type Case = keyof typeof shown
const cases = Object.keys(shown) as Case[]

const policies = {
  opportunistic: { kind: 'opportunistic' },
  require: { kind: 'require' },
  verify: { kind: 'verify' },
  DANE: { kind: 'dane', tlsa: 'usable', floor: 'require' },
  'DANE, unusable': { kind: 'dane', tlsa: 'unusable', floor: 'require' },
  'STS enforce': { kind: 'mta-sts', ...sts, floor: 'opportunistic' },
  'STS testing': { kind: 'mta-sts', ...sts, mode: 'testing', floor: 'opportunistic' },
  'STS testing, sender verifies': { kind: 'mta-sts', ...sts, mode: 'testing', floor: 'verify' },
} satisfies Record<string, HostPolicy>

const encrypted: Case[] = ['valid', 'self-signed', 'expired', 'wrong name', 'self-signed, matches']

describe.each<[keyof typeof policies, Case[]]>([
  ['opportunistic', cases],
  ['require', encrypted],
  ['verify', ['valid']],
  ['DANE', ['self-signed, matches']],
  ['DANE, unusable', encrypted],
  ['STS enforce', ['valid']],
  ['STS testing', cases],
  ['STS testing, sender verifies', ['valid']],
])('under %s', (name, sent) => {
  test.each(cases)('a host that shows: %s', (is) => {
    const { because } = judgeTls(policies[name], shown[is])
    expect(because === null).toBe(sent.includes(is))
    // It names the policy, in the words that explanations and bounces know.
    if (because !== null) expect(because).toMatch(/^TLS is required by the policy (require|verify|DANE|MTA-STS), but /)
  })
})

test('what is recorded of a host does not depend on whether the mail may go', () => {
  const results = {
    valid: 'successful',
    'self-signed': 'certificate-not-trusted',
    expired: 'certificate-expired',
    'wrong name': 'certificate-host-mismatch',
    'not offered': 'starttls-not-supported',
    refused: 'starttls-not-supported',
    failed: 'validation-failure',
  } as const
  for (const name of ['opportunistic', 'verify', 'STS enforce', 'STS testing'] as const)
    for (const [is, result] of Object.entries(results)) expect(judgeTls(policies[name], shown[is as Case]).result).toBe(result)
})

test('a name that MTA-STS does not know is no host under enforce, and only recorded under testing', () => {
  for (const [name, fits] of [
    ['a.mx.example', true],
    ['mail.other.example', true],
    ['b.a.mx.example', false],
    ['mx.example', false],
    ['a.mail.other.example', false],
  ] as const) {
    expect(judgeName(policies['STS enforce'], name).because === null).toBe(fits)
    expect(judgeName(policies['STS testing'], name)).toEqual({ because: null, result: fits ? 'successful' : 'validation-failure' })
  }
  expect(judgeName({ kind: 'dane', tlsa: 'bogus', floor: 'require' }, 'a.mx.example')).toMatchObject({ result: 'dnssec-invalid' })
})

test('plain text comes after failed TLS only where nothing demands TLS', () => {
  const may = Object.entries(policies).filter(([, policy]) => !demandsTls(policy))
  expect(may.map(([name]) => name)).toEqual(['opportunistic', 'STS testing'])
})
