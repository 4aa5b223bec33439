import { expect, test } from 'vitest'
import {
  bySpecificity,
  choicesFor,
  chosen,
  type RouteConditions,
  type SmarthostRoute,
} from '../../../src/mail-out/smarthost/choose-route.ts'

const mail = { accountId: 'acc_1', sendingDomain: 'sender.example', destination: 'rcpt.example' }
const none: RouteConditions = { accountId: null, sendingDomain: null, recipientDomain: null, provider: null }

/** Where mail goes with routes to smarthosts that are named by what the routes ask for. */
function via(routes: Partial<RouteConditions>[], provider: string | null = null): string | null {
  const ranked = routes
    .map((given): SmarthostRoute => ({ ...none, ...given, id: 'rt_1', via: Object.values(given).join(' ') || 'all' }))
    .toSorted(bySpecificity)
  const choices = choicesFor(mail, ranked)
  return choices && chosen(choices, provider).via
}

test.each<[string, Partial<RouteConditions>[], string | null, string | null]>([
  ['without routes, as the settings say', [], null, null],
  ['a route without conditions is for all mail', [{}], 'google', 'all'],
  ['the account before all mail', [{}, { accountId: 'acc_1' }], null, 'acc_1'],
  ['the sending domain before the account', [{ accountId: 'acc_1' }, { sendingDomain: 'sender.example' }], null, 'sender.example'],
  ['the provider before both', [{ accountId: 'acc_1', sendingDomain: 'sender.example' }, { provider: 'google' }], 'google', 'google'],
  [
    'the recipient domain before all of them',
    [{ accountId: 'acc_1', provider: 'google' }, { recipientDomain: 'rcpt.example' }],
    'google',
    'rcpt.example',
  ],
  ['more conditions before fewer', [{ provider: 'google' }, { provider: 'google', accountId: 'acc_1' }], 'google', 'google acc_1'],
  ['no other account', [{}, { accountId: 'acc_2' }], null, 'all'],
  ['no other provider', [{}, { provider: 'google' }], 'yahoo', 'all'],
  ['no other recipient domain', [{ recipientDomain: 'other.example' }], null, null],
  ['of several providers the right one', [{ provider: 'google' }, { provider: 'yahoo' }], 'yahoo', 'yahoo'],
])('%s', (_, routes, provider, expected) => {
  expect(via(routes, provider)).toBe(expected)
})

test('it says whether other mail for the destination may go another way', () => {
  const isOfSome = (given: Partial<RouteConditions>) => choicesFor(mail, [{ ...none, ...given, id: 'rt_1', via: 'x' }])?.isOfSome
  expect(isOfSome({ provider: 'google' })).toBe(false)
  expect(isOfSome({ accountId: 'acc_2' })).toBe(true)
  expect(isOfSome({ accountId: 'acc_2', recipientDomain: 'other.example' })).toBeUndefined()
})

test('no provider is asked for where a more specific route decides', () => {
  const routes = [
    { ...none, id: 'rt_2', recipientDomain: 'rcpt.example', via: 'x' },
    { ...none, id: 'rt_1', provider: 'google', via: 'y' },
  ]
  expect(choicesFor(mail, routes)).toMatchObject({ byProvider: [], usual: { via: 'x', routeId: 'rt_2' } })
})
