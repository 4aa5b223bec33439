import { expect, test } from 'vitest'
import { parseExportTime } from '../../../src/mail/suppression/export-time.ts'

const at = Date.UTC(2019, 11, 17, 13, 58, 33)

test.each([
  ['1576591113', at],
  ['1576591113.25', at + 250],
  ['1576591113000', at],
  ['2019-12-17T08:58:33-05:00', at],
  ['2019-12-17T13:58:33.000Z', at],
  ['2019-12-17T13:58:33.123456Z', at + 123],
  ['2019-12-17 13:58:33', at],
  ['2019-12-17 13:58:33.5+00', at + 500],
  ['2019-12-17 13:58:33 UTC', at],
  ['2019-12-17 15:58:33+0200', at],
  ['2019-12-17 13:58', at - 33_000],
  ['2019-12-17', Date.UTC(2019, 11, 17)],
  ['Tue, 17 Dec 2019 13:58:33 GMT', at],
  ['Tue, 17 Dec 2019 13:58:33 UTC', at],
  ['17 Dec 2019 08:58:33 -0500', at],
  ['', null],
  ['yesterday', null],
  ['12/17/2019', null],
  ['2019-13-45', null],
])('%j', (text, expected) => {
  expect(parseExportTime(text)).toBe(expected)
})
