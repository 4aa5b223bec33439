import { expect, test } from 'vitest'
import { recipientTls, recipientTlsText, tlsPolicyFor } from '../../../src/platform/config/recipient-tls.ts'
import { SettingFault } from '../../../src/platform/config/setting-types.ts'

const { parse } = recipientTls(3)

test('a domain has its own policy, or that of the nearest name above it', () => {
  const policies = parse('bank.example=verify, .bank.example=require,.open.bank.example=opportunistic')
  const cases = {
    'bank.example': 'verify',
    'a.bank.example': 'require',
    'b.a.bank.example': 'require',
    'x.open.bank.example': 'opportunistic',
    'open.bank.example': 'require',
    'otherbank.example': null,
    example: null,
    constructor: null,
    '': null,
  }
  for (const [domain, policy] of Object.entries(cases)) expect([domain, tlsPolicyFor(policies, domain)]).toEqual([domain, policy])
})

test('what is written is read as it was, in lower case', () => {
  const policies = parse(['Bank.Example=verify', '.x.example=require'])
  expect(policies).toEqual({ 'bank.example': 'verify', '.x.example': 'require' })
  expect(parse(recipientTlsText(policies))).toEqual(policies)
  expect([parse('none'), parse(null), parse([])]).toEqual([{}, {}, {}])
})

test.each([
  'bank.example',
  'bank.example=strict',
  'bank.example=enforced',
  '=verify',
  '192.0.2.1=verify',
  'b_nk=verify',
  'bank.example=verify=x',
  'bänk.example=verify',
  'a.example=verify,a.example=require',
  'a.example=verify,b.example=verify,c.example=verify,d.example=verify',
])('%s is refused', (text) => {
  expect(() => parse(text)).toThrow(SettingFault)
})
