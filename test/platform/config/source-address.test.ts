import { expect, test } from 'vitest'
import { SettingFault } from '../../../src/platform/config/setting-types.ts'
import { sourceAddresses } from '../../../src/platform/config/source-address.ts'

const { parse } = sourceAddresses(3)

test('addresses come with their names, or without', () => {
  const expected = [
    { address: '192.0.2.10', ehloName: 'mail1.example.com' },
    { address: '2001:db8::10', ehloName: null },
  ]
  expect(parse('192.0.2.10 Mail1.Example.com., 2001:db8::10')).toEqual(expected)
  expect(parse(['192.0.2.10  mail1.example.com', '2001:db8::10'])).toEqual(expected)
  expect([parse('none'), parse(null), parse([])]).toEqual([[], [], []])
})

test.each([
  'mail1.example.com',
  'mail1.example.com 192.0.2.10',
  '192.0.2.10 mail1.example.com more',
  '192.0.2.10 192.0.2.10',
  '192.0.2.10 mail_1.example.com',
  '192.0.2.0/24',
  '192.0.2.10:25',
  '0.0.0.0',
  '::',
  '192.0.2.10,192.0.2.10 mail1.example.com',
  '192.0.2.1,192.0.2.2,192.0.2.3,192.0.2.4',
])('%s is refused', (text) => {
  expect(() => parse(text)).toThrow(SettingFault)
})
