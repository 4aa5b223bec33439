import { describe, expect, it } from 'vitest'
import { PhraseBook } from '../../../src/mail/bounce-parser/phrase-book.ts'
import { wordsOf } from '../../../src/mail/bounce-parser/reply-words.ts'

const terms = { user: ['user', 'e-mail address'] }
const isIn = (phrase: string, text: string): boolean => new PhraseBook([['it', [phrase]]], terms).saidIn(wordsOf(text)).has('it')

describe('a phrase', () => {
  it.each<[string, string, boolean]>([
    ['user unknown', 'User-unknown', true],
    ['user unknown', '<a@b.test>... User\n  UNKNOWN!', true],
    ['user unknown', 'users unknown', false],
    ['user unknown', 'User. Unknown', false],
    ['user unknown', 'user.unknown@example.com', false],
    ['does not exist', 'doesn’t exist', false],
    ['doesnt exist', 'doesn’t exist', true],
    ['ungultig', 'UNGÜLTIG', true],
    ['(no such|unknown) user', 'no such user', true],
    ['user (|name )unknown', 'user unknown', true],
    ['user (is |)unknown', 'user is unknown', true],
    ['$user unknown', 'e-mail address unknown', true],
    ['the (very |)$user unknown (a|b)', 'the e-mail address unknown b', true],
    ['the (very |)(|known )unknown (a|b)', 'the unknown b', true],
    ['$user … found', 'e-mail address was not found', true],
    ['no (such|known|) user', 'no known user', true],
    ['no (such|known|) user', 'no user', true],
    ['user … unknown', 'user a@b.test of example.com unknown', true],
    ['user … unknown', 'user one two three four five six unknown', true],
    ['user … unknown', 'user one two three four five six seven unknown', false],
    ['user … unknown', 'the user. The host is unknown', false],
    ['user … unknown', 'user one user two unknown', true],
    ['a … b c', 'a b b c', true],
    ['rfc822 mail', 'RFC822 mail', true],
    ['5.7.26', 'code 5.7.26 here', true],
    ['5.7.2', 'code 5.7.26 here', false],
    ['用户不存在', '该用户不存在。', true],
    ['ユーザ … 存在しません', 'ユーザは存在しません', true],
    ['пользователь не найден', 'Пользователь не найден', true],
  ])('%s in %s: %s', (phrase, text, expected) => expect(isIn(phrase, text)).toBe(expected))

  it('must begin and end with a word', () => {
    for (const phrase of [
      '… unknown',
      'unknown …',
      '',
      '(|user)',
      '$nobody unknown',
      '(user',
      'user)',
      '(a … b|c) d',
      'a ((b|c)|d)',
      'a|b',
    ])
      expect(() => new PhraseBook([['it', [phrase]]], terms), phrase).toThrow(RangeError)
  })
})
