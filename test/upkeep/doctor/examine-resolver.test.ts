import { expect, test } from 'vitest'
import { examineEachServer, examineResolver } from '../../../src/upkeep/doctor/examine-resolver.ts'
import { fakeResolver, type FakeNameTable } from '../../support/fake-resolver.ts'

const near = { servers: ['127.0.0.1:53'], dnssecProbe: { name: '', type: 'NS' as const } }

test.each<[string, FakeNameTable, string[]]>([
  ['an honest one that validates', { org: { ns: ['a'], secure: true } }, ['resolver ok', 'dnssec ok']],
  ['one that does not validate', { org: { ns: ['a'] } }, ['resolver ok', 'dnssec warning']],
  ['one that shows advertisements', { org: { ns: ['a'] }, 'x.invalid': { a: ['203.0.113.1'] } }, ['resolver failed', 'dnssec warning']],
  [
    'one that says that the name is there without an address',
    { org: { ns: ['a'] }, 'x.invalid': {} },
    ['resolver failed', 'dnssec warning'],
  ],
  ['one that fails for what does not exist', { org: { ns: ['a'] }, 'x.invalid': 'servfail' }, ['resolver warning', 'dnssec warning']],
  ['one that knows only its own network', {}, ['resolver failed']],
  ['one that does not answer', { org: 'servfail', 'x.invalid': 'servfail' }, ['resolver failed']],
])('%s', async (_, names, expected) => {
  expect((await examineResolver(fakeResolver(names), 'x', near)).map(({ check, status }) => `${check} ${status}`)).toEqual(expected)
})

test.each<[string, Parameters<typeof examineResolver>[2], string]>([
  ['the resolver is near', near, 'set dns.servers'],
  ['no name server is set', { ...near, servers: [] }, 'No name server is set that is on this machine'],
  ['all are public', { ...near, servers: ['9.9.9.9:53', '[2620:fe::fe]:53'] }, 'No name server is set that is on this machine'],
  ['the probe is off', { ...near, dnssecProbe: null }, 'dns.dnssec_probe is none'],
])('why DANE is off: %s', async (_, settings, words) => {
  const findings = await examineResolver(fakeResolver({ org: { ns: ['a'] } }), 'x', settings)
  const finding = findings.find(({ check }) => check === 'dnssec')
  expect(`${finding?.what} ${finding?.advice}`.toLowerCase()).toContain(words.toLowerCase())
  expect(finding?.what).toContain('DANE is off')
})

test.each<[string, FakeNameTable[], string[]]>([
  ['all answer', [{}, { org: { ns: ['a'] } }], []],
  ['one is silent', [{}, { org: 'servfail' }], ['warning: These name servers do not answer: 192.0.2.1.']],
  [
    'one does not validate',
    [{ org: { ns: ['a'], secure: true } }, { org: { ns: ['a'] } }],
    ['warning: These name servers do not validate DNSSEC, but others do: 192.0.2.1.'],
  ],
  ['all are silent, which is told already', [{ org: 'servfail' }, { org: 'servfail' }], []],
])('each of several: %s', async (_, servers, expected) => {
  const findings = await examineEachServer(servers.map((names, i) => ({ server: `192.0.2.${i}`, ...fakeResolver(names) })))
  expect(findings.map(({ status, what }) => `${status}: ${what}`)).toEqual(expected)
})
