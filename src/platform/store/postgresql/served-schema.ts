import type { Row } from '../database.ts'
import { newestSchema, requireKnown } from '../schema-steps.ts'

/** The schema of a database, 0 if it has none, and the oldest one whose programs serve with it. */
export interface ServedSchema {
  version: number
  servedFrom: number
}

export const readSchema = 'select * from schema_version'

/** @param row what `readSchema` gives; one without the second column was made before there was any */
export function servedSchema({ version = 0, served_from: servedFrom }: Row = {}): ServedSchema {
  return { version: Number(version), servedFrom: Number(servedFrom ?? version) }
}

/** @throws SternaError `configuration` if the schema is newer, and not for programs that know those up to `newest` */
export function requireServed({ version, servedFrom }: ServedSchema, newest = newestSchema()): void {
  if (newest < servedFrom) requireKnown(version, 'server', newest)
}
