import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { TestProject } from 'vitest/node'
import { prepareDatabase } from '../../src/platform/store/postgresql/postgres-schema.ts'
import { postgresPlace } from '../../src/platform/store/postgresql/postgres-url.ts'
import { startPostgres } from './postgres-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** `store.url` of the template of the run's databases, which has the schema and nothing else. Nobody may use it. */
    postgresTemplate: string
  }
}

/** For vitest: starts one server of PostgreSQL for all tests of a run. Returns what ends it. */
export default async function startPostgresOfRun(project: TestProject): Promise<() => void> {
  const postgres = startPostgres({
    parent: existsSync('/dev/shm') ? '/dev/shm' : tmpdir(),
    // Nothing has to outlive the run. Each relay takes three connections.
    settings: { max_connections: '500', autovacuum: 'off', full_page_writes: 'off', wal_level: 'minimal', max_wal_senders: '0' },
  })
  try {
    const url = await postgres.newUrl()
    const place = postgresPlace(url)
    await prepareDatabase(place, { olderSchema: 'upgrade', onUpgrade() {} })
    await postgres.run(`\\connect ${place.database}\n${emptying}`)
    project.provide('postgresTemplate', url)
    return () => postgres.stop()
  } catch (error) {
    postgres.stop()
    throw error
  }
}

/**
 * Makes `as_made.empty()`, which leaves in a database what a new one has, and says whether its tables are those of a new one too. What refers to
 * other rows is not checked meanwhile.
 */
const emptying = `
  create schema as_made;
  create view as_made.shape as
    select count(*) as columns from pg_attribute join pg_class c on c.oid = attrelid where c.relnamespace = 'public'::regnamespace;
  create table as_made.columns as select columns from as_made.shape;
  do $do$
  declare
    name text;
    deletes text := '';
    inserts text := '';
    has_rows boolean;
  begin
    for name in select tablename from pg_tables where schemaname = 'public' loop
      deletes := deletes || format('delete from public.%I;', name);
      execute format('select exists (select from public.%I)', name) into has_rows;
      if has_rows then
        execute format('create table as_made.%I as select * from public.%I', name, name);
        inserts := inserts || format('insert into public.%I select * from as_made.%I;', name, name);
      end if;
    end loop;
    execute format(
      'create function as_made.empty() returns boolean language plpgsql set session_replication_role = replica as %L',
      'begin if (select columns from as_made.shape) <> (select columns from as_made.columns) then return false; end if; '
        || deletes || inserts || ' return true; end');
  end $do$;`
