/**
 * Loaded before an engine: its commits fail as they do where a disk cannot sync, from when a file exists. The
 * file holds `before` where the events are lost, and `after` where they are on disk all the same.
 */
import { existsSync, readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

const SQLITE_IOERR_FSYNC = 1034;
const trigger = process.env['SPINDLE_TEST_FAIL_COMMITS'] ?? '';
const prepare = DatabaseSync.prototype.prepare;

DatabaseSync.prototype.prepare = function failing(sql, ...rest) {
  const statement = prepare.call(this, sql, ...rest);
  if (sql !== 'COMMIT') return statement;
  const run = statement.run.bind(statement);
  statement.run = () => {
    if (!existsSync(trigger)) return run();
    if (readFileSync(trigger, 'utf8') === 'after') run();
    throw Object.assign(new Error('disk I/O error'), {
      code: 'ERR_SQLITE_ERROR',
      errcode: SQLITE_IOERR_FSYNC,
    });
  };
  return statement;
};
