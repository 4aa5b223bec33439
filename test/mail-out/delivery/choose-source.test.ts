import { describe, expect, it } from 'vitest'
import { SourceChoice } from '../../../src/mail-out/delivery/choose-source.ts'
import type { RouteHost } from '../../../src/mail-out/delivery/route.ts'
import { jobOf } from '../../support/delivery-fixture.ts'

const ipv4 = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'].map((address) => ({ address, ehloName: null }))
const ipv6 = ['2001:db8::1', '2001:db8::2'].map((address) => ({ address, ehloName: null }))
const hosts: RouteHost[] = ['198.51.100.1', '2001:db8:1::1'].map((address) => ({ name: 'mx.test', address, port: 25 }))
const minute = 60_000

/** The sources for IPv4 and IPv6 of mail from one domain to another. */
const chosen = (choice: SourceChoice, [sender, destination]: readonly [string, string], now = 0): (string | undefined)[] => {
  const signingKeys = [{ id: 'dk', signingDomain: sender, selector: 's', algorithm: 'rsa-sha256' as const }]
  return choice.assign(hosts, jobOf({ signingKeys, destination }), now).map(({ source }) => source?.address)
}
const mails = Array.from({ length: 400 }, (_, i) => [`sender${i % 20}.test`, `recipient${i}.test`] as const)

describe('the source of mail', () => {
  it('is the same at each attempt, in each process, and of the family of the host', () => {
    const [one, other] = [new SourceChoice([...ipv4, ...ipv6]), new SourceChoice([...ipv6, ...ipv4].toReversed())]
    for (const mail of mails) {
      const sources = chosen(one, mail)
      expect(sources).toEqual([expect.stringMatching(/^192/), expect.stringMatching(/^2001/)])
      expect([chosen(one, mail, minute), chosen(other, mail)]).toEqual([sources, sources])
    }
  })

  it('is each of them about as often', () => {
    const choice = new SourceChoice(ipv4)
    for (const { address } of ipv4) {
      const count = mails.filter((mail) => chosen(choice, mail)[0] === address).length
      expect(count).toBeGreaterThan(60)
    }
  })

  it('changes only for mail of an address that is lost, and for as long', () => {
    const choice = new SourceChoice(ipv4)
    const before = mails.map((mail) => chosen(choice, mail)[0])
    expect(choice.noteMissing({ address: '192.0.2.3', ehloName: null }, 0)).toBe(true)
    expect(choice.noteMissing({ address: '192.0.2.3', ehloName: null }, 1)).toBe(false)
    mails.forEach((mail, i) => {
      const [now] = chosen(choice, mail, minute)
      if (before[i] === '192.0.2.3') expect(now).not.toBe('192.0.2.3')
      else expect(now).toBe(before[i])
      expect(chosen(choice, mail, 11 * minute)[0]).toBe(before[i])
    })
  })

  it('is still one of them if all are lost, and the system’s where none is listed', () => {
    const choice = new SourceChoice(ipv6)
    const mail = ['sender.test', 'recipient.test'] as const
    for (const source of ipv6) choice.noteMissing(source, 0)
    expect(chosen(choice, mail, 1)).toEqual([undefined, expect.stringMatching(/^2001/)])
    const none = new SourceChoice([])
    expect(none.assign(hosts, jobOf(), 0)).toBe(hosts)
  })
})
