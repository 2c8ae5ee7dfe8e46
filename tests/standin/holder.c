/*
 * Holds device nodes in the ways that make a GPU look held by nobody. It is the suite's own
 * process that a scan must find, or must not find; it touches nothing but the nodes it is given.
 *
 *     gcc -static -O1 -pthread -o hold holder.c
 *     hold NODE... [mode]...
 *
 * Every mode prints one line for each process that holds something, `holding PID`, once it really
 * is in the state that the mode is about; nothing has to be waited for after it. Then all of it
 * sleeps until it is killed. A node that cannot be opened: one sentence, exit 1.
 *
 *   (none)           opens every node and keeps it
 *   --map            maps every node privately and closes it (use 1:5, whose mappings keep the file)
 *   --dup            opens every node and duplicates the number twice
 *   --in-flight      sends every open node over a unix socket to itself and closes it: no table
 *                    has it, the kernel keeps it
 *   --ignore-term    ignores SIGTERM, SIGHUP and SIGINT
 *   --threads N      N more threads that sleep
 *   --zombie-leader  the main thread ends, another thread lives: state Z, /proc/PID/fd is empty
 *   --own-table      another thread has a file table of its own, and only that one has the nodes
 *   --orphan         a child inherits the nodes, its parent ends with 0: the child is the holder
 *   --vfork          a child by vfork: the parent waits in D until killed, both hold the nodes
 *   --zombie-child   as (none), with a child that ended and is never reaped: `zombie PID`
 *   --respawn        holds nothing itself; a child holds, and is replaced as soon as it ends
 *   --relay MS       a child holds for so many milliseconds, then a child of it, and so on; each is
 *                    called `relay`, and the first process waits for their end and holds nothing
 *   --fds N          opens the first node until N of it are open
 *   --write FILE     another thread writes to FILE for ever: on a frozen file system it sits in D
 *   --comm NAME      the kernel's short name of it
 *
 * --write may be combined with --zombie-leader: the one thread alive is the writer. Up to eight
 * nodes. It ends when it is killed, or 600 s after its start, so that a lost one does not stay.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NODES = 8, LIFE_S = 600 };

static const char *nodes[NODES];
static int node_count, map, dups, in_flight, zombie_leader, own_table, orphan, vforked;
static int zombie_child, respawn, relay, threads, fds;
static const char *written;

static void fail(const char *what) {
    fprintf(stderr, "cannot hold %s: %m\n", what);
    exit(1);
}

static void say(const char *word, pid_t pid) {
    char line[64];
    int length = snprintf(line, sizeof line, "%s %d\n", word, pid);
    if (write(1, line, length) != length) _exit(1);
}

static void sleep_for_ever(void) {
    for (;;) pause();
}

/* The kernel's letter for the state of a process, read from /proc. */
static char state_of(pid_t pid) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int file = open(path, O_RDONLY);
    ssize_t size = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    if (size <= 0) return 0;
    text[size] = 0;
    char *after = strrchr(text, ')');
    return after ? after[2] : 0;
}

static void wait_for(pid_t pid, char state) {
    while (state_of(pid) != state) usleep(1000);
}

/* Send an open file to ourselves; the socket pair stays open and unread. */
static void put_in_flight(int file) {
    int pair[2];
    char byte = 0, control[CMSG_SPACE(sizeof file)];
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair)) fail("a socket");
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(header), &file, sizeof file);
    if (sendmsg(pair[0], &message, 0) != 1) fail("a file in flight");
    close(file);
}

static void hold(void) {
    for (int i = 0; i < node_count; i++) {
        int file = open(nodes[i], O_RDWR | O_NOCTTY | O_NONBLOCK);
        if (file < 0) fail(nodes[i]);
        if (map) {
            if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED) fail(nodes[i]);
            close(file);
        } else if (in_flight) {
            put_in_flight(file);
        }
        for (int more = 0; more < dups; more++)
            if (dup(file) < 0) fail(nodes[i]);
    }
    for (int more = 1; more < fds; more++)
        if (open(nodes[0], O_RDWR | O_NOCTTY | O_NONBLOCK) < 0) fail(nodes[0]);
}

static void *sleeping_thread(void *unused) {
    (void)unused;
    sleep_for_ever();
    return NULL;
}

static void *last_thread(void *unused) {
    (void)unused;
    wait_for(getpid(), 'Z');
    say("holding", getpid());
    sleep_for_ever();
    return NULL;
}

static void *holding_thread(void *unused) {
    (void)unused;
    if (unshare(CLONE_FILES)) fail("a file table");
    hold();
    say("holding", getpid());
    sleep_for_ever();
    return NULL;
}

static void *writing_thread(void *unused) {
    (void)unused;
    int file = open(written, O_WRONLY | O_CREAT, 0600);
    if (file < 0) fail(written);
    if (zombie_leader) wait_for(getpid(), 'Z');
    say("holding", getpid());
    for (;;) {
        if (pwrite(file, "x", 1, 0) != 1) fail(written);
        usleep(1000);
    }
    return NULL;
}

static void start(void *(*run)(void *)) {
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    if (pthread_create(&thread, &small, run, NULL)) fail("a thread");
}

static void hold_in_a_child(void) {
    int ready[2];
    char byte = 0;
    if (pipe(ready)) fail("a pipe");
    pid_t child = fork();
    if (child < 0) fail("a child");
    if (child == 0) {
        alarm(LIFE_S);
        say("holding", getpid());
        int nothing = open("/dev/null", O_RDWR);
        for (int number = 0; number < 3; number++) dup2(nothing, number);
        close(nothing);
        close(ready[0]);
        if (write(ready[1], &byte, 1) != 1) _exit(1);
        close(ready[1]);
        sleep_for_ever();
    }
    if (read(ready[0], &byte, 1) != 1) exit(1);
    exit(0);
}

static void hold_and_wait_for_vfork(void) {
    pid_t parent = getpid();
    pid_t child = vfork();
    if (child < 0) fail("a child");
    if (child == 0) {
        alarm(LIFE_S);
        wait_for(parent, 'D');
        say("holding", parent);
        say("holding", getpid());
        sleep_for_ever();
    }
}

static void keep_a_child(void) {
    for (;;) {
        pid_t child = fork();
        if (child < 0) fail("a child");
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            hold();
            say("holding", getpid());
            sleep_for_ever();
        }
        waitpid(child, NULL, 0);
    }
}

/* Each holder ends with the first process: its end of the pipe is then the last one. */
static void pass_it_on(void) {
    int alive[2];
    if (pipe(alive)) fail("a pipe");
    fcntl(alive[0], F_SETFL, O_NONBLOCK);
    pid_t child = fork();
    if (child < 0) fail("a child");
    if (child > 0) {
        close(alive[0]);
        say("holding", child);
        sleep_for_ever();
    }
    close(alive[1]);
    prctl(PR_SET_NAME, "relay");
    hold();
    for (char byte;;) {
        usleep(relay * 1000);
        if (read(alive[0], &byte, 1) == 0) _exit(0);
        child = fork();
        if (child != 0) _exit(0);
    }
}

static void leave_a_zombie(void) {
    pid_t child = fork();
    if (child < 0) fail("a child");
    if (child == 0) _exit(0);
    wait_for(child, 'Z');
    say("zombie", child);
}

static int number(const char *word) {
    return word ? atoi(word) : 0;
}

static void understand(char **words) {
    for (char **word = words; *word; word++) {
        if (!strcmp(*word, "--map")) map = 1;
        else if (!strcmp(*word, "--dup")) dups = 2;
        else if (!strcmp(*word, "--in-flight")) in_flight = 1;
        else if (!strcmp(*word, "--zombie-leader")) zombie_leader = 1;
        else if (!strcmp(*word, "--own-table")) own_table = 1;
        else if (!strcmp(*word, "--orphan")) orphan = 1;
        else if (!strcmp(*word, "--vfork")) vforked = 1;
        else if (!strcmp(*word, "--zombie-child")) zombie_child = 1;
        else if (!strcmp(*word, "--respawn")) respawn = 1;
        else if (!strcmp(*word, "--threads")) threads = number(*++word);
        else if (!strcmp(*word, "--relay")) relay = number(*++word);
        else if (!strcmp(*word, "--fds")) fds = number(*++word);
        else if (!strcmp(*word, "--write")) written = *++word;
        else if (!strcmp(*word, "--comm")) prctl(PR_SET_NAME, *++word);
        else if (!strcmp(*word, "--ignore-term")) {
            signal(SIGTERM, SIG_IGN);
            signal(SIGHUP, SIG_IGN);
            signal(SIGINT, SIG_IGN);
        } else if (**word == '-' || node_count == NODES) {
            fprintf(stderr, "cannot hold %s: see the head of holder.c\n", *word);
            exit(2);
        } else nodes[node_count++] = *word;
    }
}

int main(int count, char **words) {
    (void)count;
    understand(words + 1);
    alarm(LIFE_S);
    if (fds) {
        struct rlimit limit = {fds + 64, fds + 64};
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    signal(SIGCHLD, relay ? SIG_IGN : SIG_DFL);
    if (relay) pass_it_on();
    if (respawn) keep_a_child();
    if (!own_table) hold();
    for (int more = 0; more < threads; more++) start(sleeping_thread);
    if (zombie_child) leave_a_zombie();
    if (orphan) hold_in_a_child();
    if (vforked) hold_and_wait_for_vfork();
    if (own_table) start(holding_thread);
    else if (written) start(writing_thread);
    else if (zombie_leader) start(last_thread);
    else say("holding", getpid());
    if (zombie_leader) syscall(SYS_exit, 0);
    sleep_for_ever();
}
