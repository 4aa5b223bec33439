import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseDeliveryTime } from '../../../../src/api/http/compat/parse-delivery-time.ts'

test.each([
  ['Fri, 14 Oct 2011 23:10:10 -0000', '2011-10-14T23:10:10.000Z'],
  ['Sat, 21 Nov 2026 09:00:00 +0100', '2026-11-21T08:00:00.000Z'],
  ['21 Nov 2026 03:30 -0430', '2026-11-21T08:00:00.000Z'],
  ['sat,  1 nov 2026 09:00:00 gmt', '2026-11-01T09:00:00.000Z'],
  ['1795248000', '2026-11-21T08:00:00.000Z'],
])('%s is %s', (text, iso) => {
  expect(parseDeliveryTime(text)).toBe(Date.parse(iso))
})

test.each([
  '',
  'tomorrow',
  '2026-11-21T08:00:00Z',
  '31 Feb 2026 09:00 GMT',
  '21 Nov 2026 24:00 GMT',
  '21 Nov 2026 09:60 GMT',
  '21 Nov 26 09:00 GMT',
  '21 Nov 2026 09:00',
  '21 Now 2026 09:00 GMT',
])('%j is refused', (text) => {
  expect(parseDeliveryTime(text)).toBeNull()
})

test('what a program writes is read back', () => {
  fc.assert(
    fc.property(fc.integer({ min: 946_684_800, max: 4_102_444_800 }), (seconds) => {
      expect(parseDeliveryTime(new Date(seconds * 1000).toUTCString())).toBe(seconds * 1000)
      expect(parseDeliveryTime(String(seconds))).toBe(seconds * 1000)
    }),
  )
})
