// What `npm run build` made of the server, as long as the sources are those it was made from.
import { readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'

const root = new URL('../', import.meta.url)

/** Whether dist/server is there, and made from just these sources and packages, by their sizes and times. Looking costs some 5 ms. */
function isUpToDate() {
  try {
    const sources = JSON.parse(readFileSync(new URL('dist/server/sources.json', root), 'utf8'))
    return sources.every(([name, size, changedAt]) => {
      const found = statSync(new URL(name, root))
      return found.size === size && found.mtimeMs === changedAt
    })
  } catch {
    // There is no build, or a source is gone.
    return false
  }
}

const isBuilt = isUpToDate()

/** A module of the server, `src/…/x.ts`: as it was built, or from its source. */
export const load = (module) =>
  isBuilt ? createRequire(root)(`./dist/server/${module.replace(/^.*\/|\.ts$/g, '')}.cjs`) : import(new URL(module, root))
