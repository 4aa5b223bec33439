import { expect, test } from 'vitest'
import { failureOf, toldSource, type SessionShown } from '../../../src/mail-out/delivery/tls-session.ts'

const encrypted = (problem: string): SessionShown => ({ is: 'encrypted', problem })

test.each([
  [encrypted(''), 'opportunistic', 'no-policy-found', null],
  [encrypted('CERT_HAS_EXPIRED'), 'opportunistic', 'no-policy-found', null],
  [encrypted('CERT_HAS_EXPIRED'), 'require', 'no-policy-found', null],
  [encrypted('CERT_HAS_EXPIRED'), 'verify', 'no-policy-found', 'certificate-expired'],
  [encrypted(''), 'opportunistic', 'sts', null],
  [encrypted('CERT_HAS_EXPIRED'), 'opportunistic', 'sts', 'certificate-expired'],
  [encrypted('ERR_TLS_CERT_ALTNAME_INVALID'), 'opportunistic', 'sts', 'certificate-host-mismatch'],
  [encrypted('DEPTH_ZERO_SELF_SIGNED_CERT'), 'opportunistic', 'sts', 'certificate-not-trusted'],
  [encrypted('SELF_SIGNED_CERT_IN_CHAIN'), 'opportunistic', 'sts', 'certificate-not-trusted'],
  [encrypted('UNABLE_TO_GET_ISSUER_CERT_LOCALLY'), 'opportunistic', 'sts', 'certificate-not-trusted'],
  [encrypted('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 'opportunistic', 'sts', 'certificate-not-trusted'],
  [encrypted('CERT_NOT_YET_VALID'), 'opportunistic', 'sts', 'validation-failure'],
  [{ is: 'not offered' }, 'opportunistic', 'no-policy-found', 'starttls-not-supported'],
  [{ is: 'refused', fault: '454 later' }, 'opportunistic', 'tlsa', 'starttls-not-supported'],
  [{ is: 'failed', fault: 'no shared cipher' }, 'opportunistic', 'no-policy-found', 'validation-failure'],
] as const)('%j by the policy %s, where the domain has %s: %s', (shown, mode, type, expected) => {
  expect(failureOf(shown, { mode }, { type })?.type ?? null).toBe(expected)
})

test.each([
  ['8.8.4.4', '8.8.4.4'],
  ['2606:4700::1', '2606:4700::1'],
  ['172.18.0.3', null],
  ['100.64.0.1', null],
  ['fd00::1', null],
  ['127.0.0.1', null],
  [undefined, null],
])('a report tells of the address %s that we connected from: %s', (address, told) => {
  expect(toldSource(address)).toBe(told)
})
