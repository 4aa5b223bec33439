import { expect, test } from 'vitest'
import { onlyAdds, servedFrom } from '../../../src/platform/store/schema-steps.ts'

test.each([
  ['create table one (id text); -- comments; with what drops\n\ncreate index one_id on one (id);', true],
  ['-- A new column.\nalter table node add column of text;', true],
  ['ALTER TABLE node\n  ADD COLUMN of text;', true],
  ['alter table node add column of text;\n-- Earlier versions cannot serve with this.', false],
  ['alter table node drop column of;', false],
  ['alter table node rename to other;', false],
  ['create unique index one_id on one (id);', false],
  ["create table one (id text); insert into one (id) values ('1');", false],
  ['alter table node add column of text; update node set of = name;', false],
])('of what a migration does, earlier versions can live with what only adds: %j', (sql, expected) => {
  expect(onlyAdds(sql)).toBe(expected)
})

test('a schema is served from the last migration on that does more than add', () => {
  const steps = ['create table a (id text);', 'drop table a;', 'create table b (id text);', 'create table c (id text);']
  expect(servedFrom(steps.map((sql, place) => ({ version: 10 * (place + 1), sql })))).toBe(20)
  expect(servedFrom([{ version: 1, sql: 'create table a (id text);' }])).toBe(0)
})
