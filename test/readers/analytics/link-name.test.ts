import { expect, test } from 'vitest'
import { linkName } from '../../../src/readers/analytics/link-name.ts'

test.each([
  ['https://shop.example/offers/best-deals-of-2026?utm_source=mail#top', 'https://shop.example/offers/best-deals-of-2026'],
  ['https://Shop.example', 'https://shop.example/'],
  ['https://ann:secret@shop.example/a', 'https://shop.example/a'],
  ['https://shop.example/u/ann@rcpt.example/settings', 'https://shop.example/u/*/settings'],
  ['https://shop.example/u/ann%40rcpt.example', 'https://shop.example/u/*'],
  ['https://shop.example/u/ann%2540rcpt.example', 'https://shop.example/u/*'],
  ['https://shop.example/bounce-ann=rcpt.example', 'https://shop.example/*'],
  ['https://shop.example/reset/9f86d081884c7d659a2feaa0c55ad015', 'https://shop.example/reset/*'],
  ['https://shop.example/order/6c2f9bb2-55a1-4c5e-9f0e-3d9f3ecb1b1a/pay', 'https://shop.example/order/*/pay'],
  ['https://shop.example/product/123456', 'https://shop.example/product/123456'],
  ['https://social.example/@sterna', 'https://social.example/@sterna'],
  ['https://shop.example/%', 'https://shop.example/%'],
])('%s counts as %s', (link, name) => {
  expect(linkName(link)).toBe(name)
})

test.each(['mailto:ann@rcpt.example', 'erased', '', `https://shop.example/${'a/'.repeat(300)}`])('%s has no name', (link) => {
  expect(linkName(link)).toBeNull()
})
