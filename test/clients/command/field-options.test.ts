import { describe, expect, test } from 'vitest'
import { asTyped } from '../../../src/clients/command/as-typed.ts'
import { declaredOperations } from '../../../src/clients/command/api-command.ts'
import { UsageError } from '../../../src/clients/command/command.ts'
import { optionFor, valueOf } from '../../../src/clients/command/field-options.ts'
import { fieldsOf } from '../../../src/api/operation/operation-fields.ts'
import { SternaError } from '../../../src/platform/errors.ts'

/** A field of an operation. */
function field(id: string, name: string) {
  const declared = declaredOperations().get(id)
  const found = declared && fieldsOf(declared).find((each) => each.name === name)
  if (!found) throw new Error(`${id} has no ${name}`)
  return found
}

test.each([
  ['text', 'webhooks.create', 'url', 'https://a.example/?b=[1]', 'https://a.example/?b=[1]'],
  ['a list with commas', 'webhooks.create', 'events', 'email.sent, email.bounced', ['email.sent', 'email.bounced']],
  ['a list as JSON', 'webhooks.create', 'events', '["email.sent"]', ['email.sent']],
  ['an object', 'webhooks.create', 'basic_auth', '{"username":"a","password":"b"}', { username: 'a', password: 'b' }],
  ['a whole number', 'webhooks.rotate_signing_secret', 'overlap_seconds', '60', 60],
  ['a number among words', 'accounts.update_quota', 'day', '1000', 1000],
  ['a word among numbers', 'accounts.update_quota', 'day', 'unlimited', 'unlimited'],
  ['what is no number', 'webhooks.rotate_signing_secret', 'overlap_seconds', 'soon', 'soon'],
  ['a parameter of the query', 'emails.list', 'limit', '5', '5'],
])('%s is read from the command line', (_, id, name, typed, value) => {
  expect(valueOf(typed, field(id, name), '--x')).toEqual(value)
})

test('what must be JSON is refused by the name of its option', () => {
  expect(() => valueOf('{"a"', field('webhooks.create', 'basic_auth'), '--basic-auth')).toThrow('--basic-auth is not JSON.')
})

test('an option says what the field says', () => {
  expect(optionFor(field('webhooks.create', 'include_bots'))).toMatchObject({ type: 'boolean' })
  expect(optionFor(field('webhooks.create', 'status'))).toMatchObject({ type: 'string', choices: ['enabled', 'disabled'] })
  expect(optionFor(field('api_keys.create', 'name'))).toMatchObject({ required: true })
  expect(optionFor(field('suppressions.list', 'limit'))).toMatchObject({ value: 'N', doc: expect.stringContaining('1 to 100') })
})

test.each([
  ['emails.list', 'after', 'ID'],
  ['queue.list', 'before', 'DOMAIN'],
  ['emails.list', 'since', 'TIME'],
  ['api_keys.create', 'expires_at', 'TIME'],
  ['emails.list', 'to', 'ADDRESS'],
  ['domains.create', 'custom_return_path', 'LABEL'],
  ['domains.create', 'tls', 'opportunistic|enforced'],
  ['domains.create', 'tracking_subdomain', 'SUBDOMAIN'],
])('the placeholder of %s says what %s is', (id, name, placeholder) => {
  expect(optionFor(field(id, name)).value).toBe(placeholder)
})

describe('an error of an operation', () => {
  const options: Record<string, string> = { url: '--url', emails: 'EMAIL', basic_auth: '--basic-auth', limit: '--limit', ids: '--ids' }
  const inWords = (message: string, field?: string) =>
    asTyped(
      new SternaError('validation_error', message, field === undefined ? {} : { faults: [{ field, code: 'x', message, help: null }] }),
      (name) => options[name],
    )

  test.each([
    ['The `url` field is missing.', 'url', '--url is missing.', '--url'],
    ['The `emails.1` field must be an email address.', 'emails.1', 'EMAIL must be an email address.', 'EMAIL'],
    [
      'The `basic_auth.username` field is missing.',
      'basic_auth.username',
      'username of --basic-auth is missing.',
      'username of --basic-auth',
    ],
    ['The `emails` field must be given, or `ids`, but not both.', 'emails', 'EMAIL must be given, or --ids, but not both.', 'EMAIL'],
  ])('%s becomes what was typed', (message, field, typed, place) => {
    expect(inWords(message, field)).toMatchObject({ message: typed, code: 'validation_error', faults: [{ field: place, message: typed }] })
    expect(inWords(message, field)).toBeInstanceOf(UsageError)
  })

  test('about a parameter names its option', () => {
    expect(inWords('The parameter limit must be a whole number from 1 to 100.')).toMatchObject({
      message: '--limit must be a whole number from 1 to 100.',
    })
  })

  test('about nothing that was typed stays as it is', () => {
    const error = new SternaError('not_found', 'There is no `secret` here.')
    expect(asTyped(error, () => undefined)).toBe(error)
  })
})
