import { describe, expect, test } from 'vitest'
import { ResolverTrust } from '../../../src/mail-out/delivery/resolver-trust.ts'

const minute = 60_000
const hour = 60 * minute

/** A trust to which look-ups can be told by number: the domain `PREFIX-NUMBER.test`. */
function watched() {
  const trust = new ResolverTrust()
  const tell = (prefix: string, count: number, found: boolean, at: number): void => {
    for (let i = 0; i < count; i++) trust.note({ name: `${prefix}-${i}.test`, found, isKnown: false }, at)
  }
  return { trust, tell, isSuspect: (at: number) => trust.doubt(at) !== null }
}

describe('domains that were found before', () => {
  test.each<[string, number, number, boolean]>([
    ['all of a few', 3, 0, true],
    ['two are chance', 2, 0, false],
    ['some among many are chance', 9, 200, false],
    ['a fifth of those asked for last is not', 10, 200, true],
    ['half of them', 40, 40, true],
  ])('and are missing now: %s', (_, missing, found, expected) => {
    const { tell, isSuspect } = watched()
    for (const _time of [1, 2]) {
      tell('gone', missing, true, 0)
      tell('good', found, true, 0)
    }
    expect(isSuspect(minute)).toBe(false)
    tell('good', found, true, hour)
    tell('gone', missing, false, hour)
    expect(isSuspect(hour)).toBe(expected)
  })

  test('a minute is noticed behind an hour of good answers, and a doubt is over with what is found again', () => {
    const { trust, tell, isSuspect } = watched()
    for (let i = 0; i < 60; i++) tell('known', 100, true, i * minute)
    tell('known', 12, false, hour)
    expect(trust.doubt(hour)).toMatchObject({ known: { lookedUp: 50, missing: 12 } })
    tell('known', 12, true, hour + minute)
    expect(isSuspect(hour + minute)).toBe(false)
  })

  test('a doubt lasts while they are looked up and missing, however long, and ends an hour after the last look-up', () => {
    const { tell, isSuspect } = watched()
    tell('known', 5, true, 0)
    for (let at = minute; at < 48 * hour; at += 16 * minute) {
      tell('known', 5, false, at)
      expect(isSuspect(at)).toBe(true)
    }
    expect(isSuspect(49 * hour + minute)).toBe(false)
  })

  test("names below one domain are one: a zone of somebody's own that goes makes no doubt", () => {
    const { trust, isSuspect } = watched()
    for (const found of [true, false]) {
      for (let i = 0; i < 30; i++) trust.note({ name: `n${i}.customer.test`, found, isKnown: false }, 0)
    }
    expect(isSuspect(0)).toBe(false)
  })

  test('a name of ours counts as one that was', () => {
    const { trust, isSuspect } = watched()
    for (const name of ['send.a.test', 'send.b.test', 'send.c.test']) trust.note({ name, found: false, isKnown: true }, 0)
    expect(isSuspect(0)).toBe(true)
  })
})

describe('domains that nobody has mailed yet', () => {
  test.each<[string, number, number, boolean]>([
    ['all of them', 10, 0, true],
    ['all of too few to tell', 9, 0, false],
    ['a bad list: a third', 15, 30, false],
    ['a very bad list: two thirds', 30, 15, false],
    ['nearly all', 45, 5, true],
  ])('and are missing: %s', (_, missing, found, expected) => {
    const { tell, isSuspect } = watched()
    tell('good', found, true, 0)
    tell('bad', missing, false, 0)
    expect(isSuspect(minute)).toBe(expected)
  })

  test('are not doubted where a known one is found meanwhile', () => {
    const { trust, tell, isSuspect } = watched()
    tell('bad', 50, false, 0)
    expect(isSuspect(0)).toBe(true)
    trust.note({ name: 'send.shop.test', found: true, isKnown: true }, minute)
    expect(isSuspect(minute)).toBe(false)
  })

  test('are doubted for four hours at most, and again when that was over', () => {
    const { tell, isSuspect } = watched()
    let at = 0
    for (; at < 4 * hour; at += 15 * minute) {
      tell('bad', 20, false, at)
      expect(isSuspect(at)).toBe(true)
    }
    tell('bad', 20, false, at)
    expect(isSuspect(at)).toBe(false)
    tell('good', 20, true, at)
    tell('worse', 50, false, at)
    expect(isSuspect(at)).toBe(true)
  })
})

test('what it remembers is bounded', () => {
  const { tell, isSuspect } = watched()
  tell('first', 3, true, 0)
  tell('other', 20_000, true, 0)
  tell('first', 3, false, 0)
  expect(isSuspect(0)).toBe(false)
})
