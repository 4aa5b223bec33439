import { describe, expect, it } from 'vitest'
import { inOrder, maxTries } from '../../../src/mail-out/delivery/address-order.ts'
import type { RouteHost } from '../../../src/mail-out/delivery/route.ts'

/** `a:3`: the addresses a1, a2 and a3 of the host a. */
const hostsOf = (...hosts: string[]): RouteHost[] =>
  hosts.flatMap((host) => {
    const [name = '', count] = host.split(':')
    return Array.from({ length: Number(count) }, (_, i) => ({ name, address: `${name}${i + 1}`, port: 25 }))
  })

const minute = 60_000
/** By address, how long ago it failed, ms. */
type Failures = Record<string, number>

const ordered = (hosts: RouteHost[], failures: Failures = {}, rotation = 0): string[] => {
  const now = 1_000_000_000
  const failedAt = ({ address }: RouteHost): number => now - (failures[address] ?? Infinity)
  return inOrder(hosts, { failedAt, now, rotation }).map(({ address }) => address)
}

const range = (name: string, from: number, to: number): string[] => Array.from({ length: to - from + 1 }, (_, i) => `${name}${from + i}`)

describe('the addresses of a destination', () => {
  it.each<[string, string[], Failures, string]>([
    ['come in the order of the route', ['a:2', 'b:2'], {}, 'a1 a2 b1 b2'],
    ['that failed within a minute come last', ['a:2', 'b:2'], { a1: minute - 1 }, 'a2 b1 b2 a1'],
    ['that failed earlier come last of their host', ['a:2', 'b:2'], { a1: minute }, 'a2 a1 b1 b2'],
    ['have the latest failure at the end', ['a:2', 'b:2'], { a1: 1, a2: 30, b1: 20 }, 'b2 a2 b1 a1'],
    ['may all have failed', ['a:3'], { a1: 1, a2: 3, a3: 2 }, 'a2 a3 a1'],
  ])('%s', (_, hosts, failures, expected) => expect(ordered(hostsOf(...hosts), failures).join(' ')).toBe(expected))

  it('leave room for the next host, if one has many', () => {
    expect(ordered(hostsOf('a:12', 'b:2'))).toEqual([...range('a', 1, 8), 'b1', 'b2', ...range('a', 9, 12)])
  })

  it('begin elsewhere in each process, if a host has many', () => {
    expect(ordered(hostsOf('a:12'), {}, 0.5)).toEqual([...range('a', 7, 12), ...range('a', 1, 6)])
    expect(ordered(hostsOf('a:8'), {}, 0.5)).toEqual(range('a', 1, 8))
  })

  it.each<[string, RouteHost[]]>([
    ['one host with 40 addresses', hostsOf('a:40')],
    ['40 hosts', hostsOf(...range('mx', 1, 40).map((name) => `${name}:1`))],
  ])('of %s: the second attempt tries those that the first did not', (_, hosts) => {
    const first = ordered(hosts).slice(0, maxTries)
    const failures = Object.fromEntries(first.map((address, i) => [address, 10 * minute + i]))
    const second = ordered(hosts, failures).slice(0, maxTries)
    expect([...first, ...second].toSorted()).toEqual(hosts.map(({ address }) => address).toSorted())
  })
})
