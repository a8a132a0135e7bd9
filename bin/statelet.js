#!/usr/bin/env -S node --v8-pool-size=1 --min-semi-space-size=4
// Any version of Node parses this file: it has no new syntax, no `require` and no static `import`.
(function () {
  // Without a listener, SIGUSR1 opens Node's debugger, which every user of the machine can reach.
  process.on('SIGUSR1', function () {});
  var version = process.versions.node.split('.');
  var major = Number(version[0]);
  if (major < 22 || (major === 22 && Number(version[1]) < 19)) {
    console.error(
      'statelet: needs Node 22.19 or newer, and this is ' + process.version + ' (' + process.execPath + ')',
    );
    process.exit(1);
  }
  import('../dist/main.js').catch(function (error) {
    var text = String(error && error.message);
    var missing = error && error.code === 'ERR_MODULE_NOT_FOUND';
    if (missing && /^Cannot find package/.test(text)) {
      console.error(
        'statelet: its packages are not installed: run "npm ci" (' + text.split(' imported')[0] + ')',
      );
    } else if (missing && /dist[\\/]main\.js' imported/.test(text)) {
      console.error('statelet: it has not been built: run "npm run build"');
    } else {
      console.error(error);
    }
    process.exit(1);
  });
})();
