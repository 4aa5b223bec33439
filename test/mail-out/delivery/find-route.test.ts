import { expect, test } from 'vitest'
import { findRoute, type LookUp } from '../../../src/mail-out/delivery/find-route.ts'
import { jobOf } from '../../support/delivery-fixture.ts'
import { fakeResolver, type FakeNameTable } from '../../support/fake-resolver.ts'

const live: FakeNameTable = { 'example.com': { mx: [[10, 'mx.test']] }, 'mx.test': { a: ['93.184.215.1'] } }
const inside: FakeNameTable = { 'example.com': { a: ['10.0.0.1'] } }
const own: FakeNameTable = { 'send.shop.test': { mx: [[10, 'relay.test']] } }
const broken: FakeNameTable = { 'example.com': 'servfail', 'send.shop.test': 'servfail' }

/** What comes of a look at these name servers, and what is noted of them. */
async function look(servers: FakeNameTable[], { isSecondLook = true, knownName = null as string | null, isKept = false } = {}) {
  const noted: LookUp[] = []
  const eachServer = servers.map(fakeResolver)
  const [first = fakeResolver({})] = eachServer
  const resolver = { ...first, mx: async (name: string) => ({ ...(await first.mx(name)), isKept }) }
  const guard = { allowPrivateAddresses: false, ownListeners: [], interfaceAddresses: [] }
  const route = { resolver, guard, ownNames: [], port: 25, smarthost: null, random: () => 0 }
  const found = await findRoute(jobOf({ isSecondLook, knownName }), { route, eachServer, noteLookUp: (lookUp) => noted.push(lookUp) })
  const told =
    'hosts' in found
      ? found.hosts.map(({ address }) => address).join()
      : `${found.outcome.type} ${(found.outcome as { reason: string }).reason}`
  return {
    told,
    noted: noted.map(({ name, found: isFound, isKnown }) => `${name} ${isFound ? 'found' : 'missing'}${isKnown ? ', known' : ''}`),
  }
}

const absent = expect.stringMatching(/^bounced 5\.1\.2 the domain example\.com does not exist$/)
const onlyOne = expect.stringMatching(/^deferred 4\.4\.3 only one of the name servers/)

test.each<[string, FakeNameTable[], unknown, string[]]>([
  ['the only one denies it', [{}], absent, ['example.com missing']],
  ['the only one fails', [broken], expect.stringMatching(/^deferred 4\.4\.3 none of/), []],
  ['both deny it', [{}, {}], absent, ['example.com missing']],
  ['the second knows it', [{}, live], '93.184.215.1', ['example.com found']],
  ['the first is right again', [live, {}], '93.184.215.1', ['example.com found']],
  ['the first has it at an address that mail is not sent to', [inside, live], '93.184.215.1', ['example.com found']],
  ['the first says that it is there, without anything', [{ 'example.com': {} }, live], '93.184.215.1', ['example.com found']],
  ['one denies it, the other fails', [{}, broken], onlyOne, []],
  ['one fails, the other denies it', [broken, {}], onlyOne, []],
  ['two of three deny it', [{}, broken, {}], absent, ['example.com missing']],
  ['the third knows it', [{}, {}, live], '93.184.215.1', ['example.com found']],
  [
    'both have a null MX',
    [{ 'example.com': { mx: [[0, '']] } }, { 'example.com': { mx: [[0, '']] } }],
    expect.stringMatching(/^bounced 5\.1\.10/),
    [],
  ],
])('at the second look each name server is asked: %s', async (_, servers, told, noted) => {
  expect(await look(servers)).toEqual({ told, noted })
})

test.each<[string, FakeNameTable[], unknown, string[]]>([
  [
    'denies the sender too',
    [{}],
    expect.stringMatching(/^deferred 4\.4\.3 .* do not even find the sender's send\.shop\.test/),
    ['example.com missing', 'send.shop.test missing, known'],
  ],
  ['fails for the sender', [{ 'send.shop.test': 'servfail' }], expect.stringMatching(/^deferred 4\.4\.3/), ['example.com missing']],
  ['knows the sender', [own], absent, ['example.com missing', 'send.shop.test found, known']],
])('a name server that denies the recipient is believed where it knows the sender: it %s', async (_, servers, told, noted) => {
  expect(await look(servers, { knownName: 'send.shop.test' })).toEqual({ told, noted })
})

test('the first look is one as always, and what is kept of earlier ones is not noted as found', async () => {
  expect(await look([{}, live], { isSecondLook: false, knownName: 'send.shop.test' })).toEqual({
    told: absent,
    noted: ['example.com missing'],
  })
  expect(await look([live], { isSecondLook: false })).toEqual({ told: '93.184.215.1', noted: ['example.com found'] })
  expect(await look([live], { isSecondLook: false, isKept: true })).toEqual({ told: '93.184.215.1', noted: [] })
})
